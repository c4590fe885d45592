"""Runs that a session keeps, and the answers that one of them resumes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from refengine.interrupts import Pending
from refengine.messages import Json, Message
from refengine.resume.checkpoint import GONE, Keeper, Point, Saved, Step, TypeRegistry

if TYPE_CHECKING:
    from refengine.interrupts import Address, Pending
    from refengine.messages import Json
    from refengine.testing.recorder import Recorder
    from refengine.testing.scenario import RunSpec, Scenario, TargetSpec


class RecordingKeeper:
    """A keeper around another one that puts down what is written and read.

    A step says what changed; put down is what it makes of the whole.
    """

    def __init__(self, recorder: Recorder, inner: Keeper) -> None:
        self._recorder = recorder
        self._inner = inner
        self._messages: dict[str, tuple[Message, ...]] = {}
        self._locals: dict[str, dict[str, object]] = {}

    @property
    def types(self) -> TypeRegistry:
        """The registry of the keeper inside."""
        return self._inner.types

    async def write(self, key: str, step: Step) -> None:
        """Keep a step and put it down once it is safe; raises what the other does."""
        await self._inner.write(key, step)
        kept = self._messages.get(key, ()) if step.seq else ()
        messages = (*kept[: step.splice.keep], *step.splice.messages)
        before = self._locals.get(key, {}) if step.seq else {}
        now = {**before, **step.locals}
        values = {name: each for name, each in now.items() if each is not GONE}
        self._messages[key], self._locals[key] = messages, values
        identity = key, step.seq, step.point
        self._add("write", identity, messages, values, step.pending)

    async def read(self, key: str) -> Saved:
        """Return the run under that key and put it down; raises what the other does."""
        saved = await self._inner.read(key)
        self._messages[key], self._locals[key] = saved.messages, dict(saved.locals)
        identity = key, saved.steps - 1, saved.point
        self._add("read", identity, saved.messages, saved.locals, saved.pending)
        return saved

    def _add(
        self,
        op: str,
        identity: tuple[str, int, Point],
        messages: Sequence[Message],
        values: Mapping[str, object],
        pending: Sequence[Pending],
    ) -> None:
        key, seq, point = identity
        seen = {"phase": point.phase, "status": point.status}
        data: dict[str, Any] = {
            "op": op,
            "key": key,
            "seq": seq,
            **seen,
            "messages": messages,
            "locals": {name: self.types.pack(each) for name, each in values.items()},
            "pending": [each.payload for each in pending],
        }
        self._recorder.add("checkpoint", data)


def keeper_for(scenario: Scenario, recorder: Recorder) -> Keeper | None:
    """Return what keeps the runs of a scenario; None if it keeps none, which is faster.

    What is kept is bytes in memory, so a run that goes on has been decoded from them.
    """
    if not scenario.keeps:
        return None
    from refengine.state import Checkpoints, MemoryStore  # noqa: PLC0415  # seldom used

    return RecordingKeeper(recorder, Checkpoints(MemoryStore()))


def address_parts(address: Address) -> dict[str, Json]:
    """Return the parts of an address, and its text by which it is answered."""
    return {
        "run_path": list(address.run_path),
        "iteration": address.iteration,
        "hook": address.hook,
        "owner": address.owner,
        "tool": address.tool,
        "call_id": address.call_id,
        "ordinal": address.ordinal,
        "text": str(address),
    }


def recorded_address(address: Address) -> list[list[str]]:
    """Return an address as recorded rows have it: agents, then the tool call."""
    path = [["agent", name] for name in address.run_path]
    if address.tool is None:
        return path
    return [*path, ["tool", address.tool, address.call_id or ""]]


OTHERS: Final = "*"
"""In ``answers`` all addresses that no other key names."""
ADDRESS: Final = "<address>"
"""As an answer it stands for the address that it answers."""


class NoTargetError(LookupError):
    """A run that resumes is to answer an interrupt that does not wait."""

    def __init__(self, target: TargetSpec, pending: Sequence[Pending]) -> None:
        self.target = target
        waiting = ", ".join(str(each.address) for each in pending) or "nothing"
        named = target.model_dump(exclude_none=True, exclude={"data"})
        super().__init__(f"no interrupt fits {named}; waiting: {waiting}")


def answers_of(spec: RunSpec, pending: Sequence[Pending]) -> dict[str, Json] | None:
    """Return what ``resume`` is given: answers by full address, None for all.

    Raises NoTargetError.
    """
    if spec.targets:
        return _targeted(spec.targets, pending)
    return None if spec.answers == "all" else _addressed(spec.answers, pending)


def _targeted(
    targets: Sequence[TargetSpec], pending: Sequence[Pending]
) -> dict[str, Json]:
    """Return the answers to what is targeted; raises NoTargetError."""
    answers: dict[str, Json] = {}
    for target in targets:
        fit = [each.address for each in pending if _is_target(target, each.address)]
        if not fit:
            raise NoTargetError(target, pending)
        answers.update({str(each): target.data for each in fit})
    return answers


def _is_target(target: TargetSpec, address: Address) -> bool:
    if target.tool is not None:
        return address.tool == target.tool
    return [*map(list, target.address or ())] == recorded_address(address)


def _addressed(
    answers: Mapping[str, Json], pending: Sequence[Pending]
) -> dict[str, Json]:
    """Return the answers by full address; one that fits nothing stays as it is.

    ``ADDRESS`` as the answer to all others is an answer of its own to each.
    """
    waiting = [str(each.address) for each in pending]
    found: dict[str, Json] = {}
    for key, answer in answers.items():
        fit = [each for each in waiting if each == key or each.endswith(f" {key}")]
        found.update(dict.fromkeys(fit or ([] if key == OTHERS else [key]), answer))
    if OTHERS in answers:
        other = answers[OTHERS]
        others = {each: each if other == ADDRESS else other for each in waiting}
        found = {**others, **found}
    return found


def as_recorded(pending: Pending) -> dict[str, Json]:
    """Return the entry that tells of an interrupt in the words of recorded rows."""
    return {
        "at": "interrupt",
        "address": cast("Json", recorded_address(pending.address)),
        "info": pending.payload,
        "root_cause": True,
    }
