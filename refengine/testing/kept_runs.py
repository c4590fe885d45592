"""Runs that a session keeps: every resume goes through bytes, and all is put down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from refengine.checkpoint import GONE, Keeper, Point, Saved, Step, TypeRegistry
from refengine.interrupts import Pending
from refengine.messages import Json, Message

if TYPE_CHECKING:
    from refengine.interrupts import Address
    from refengine.testing.recorder import Recorder
    from refengine.testing.scenario import Scenario


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
        told = key, step.seq, step.point
        self._add("write", told, messages, values, step.pending)

    async def read(self, key: str) -> Saved:
        """Return the run under that key and put it down; raises what the other does."""
        saved = await self._inner.read(key)
        self._messages[key], self._locals[key] = saved.messages, dict(saved.locals)
        told = key, saved.steps - 1, saved.point
        self._add("read", told, saved.messages, saved.locals, saved.pending)
        return saved

    def _add(
        self,
        op: str,
        told: tuple[str, int, Point],
        messages: Sequence[Message],
        values: Mapping[str, object],
        pending: Sequence[Pending],
    ) -> None:
        key, seq, point = told
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
