"""Engines that write less of a run than it is, or read it otherwise (SER, INT).

Each stands between the right engine and what keeps its runs: a fault in a step that is
written is only met by the process that goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from property_tests.mutants.around import configured
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import wrong
from refengine.agent import ChatModelAgentConfig
from refengine.messages import Message
from refengine.resume.checkpoint import GONE, Entry, Keeper, Saved, Splice, Step

Change: TypeAlias = Callable[["Step | None", Step], Step]
"""Makes the step that is written of the one before it, None for the first, and it."""
ChangeEntry: TypeAlias = Callable[[Entry], "Entry | None"]


class ChangedKeeper:
    """Keeps other steps than it is given."""

    def __init__(self, right: Keeper, change: Change) -> None:
        self._right = right
        self._change = change
        self._last: dict[str, Step] = {}

    @property
    def types(self) -> Any:  # noqa: ANN401  # as a keeper's
        """What values are looked at by."""
        return self._right.types

    async def write(self, key: str, step: Step) -> None:
        """Keep the changed step in its place."""
        before = self._last.get(key) if step.seq else None
        self._last[key] = step
        await self._right.write(key, self._change(before, step))

    async def read(self, key: str) -> Saved:
        """Return the run as it was kept."""
        return await self._right.read(key)


def _keeping(make: Callable[[], Change]) -> Door:
    """Return the door to the right engine whose steps are written so.

    The change is made anew for each agent, so it may remember steps.
    """

    def changed(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        keeper = config.checkpoints
        if keeper is None:
            return config
        return replace(config, checkpoints=ChangedKeeper(keeper, make()))

    return configured(changed)


def _each_step(change: Callable[[Step], Step]) -> Door:
    return _keeping(lambda: lambda _, step: change(step))


def _locals(change: Callable[[str, object], bool]) -> Door:
    """Keep those run-local values of which this is true."""

    def changed(step: Step) -> Step:
        kept = {key: each for key, each in step.locals.items() if change(key, each)}
        return replace(step, locals=kept)

    return _each_step(changed)


def _first_values() -> Change:
    known: set[str] = set()

    def changed(_: Step | None, step: Step) -> Step:
        if not step.seq:
            known.clear()
        new = {key: each for key, each in step.locals.items() if key not in known}
        known.update(new)
        return replace(step, locals=new)

    return changed


def _context(step: Step) -> Step:
    ctx = {key: each for key, each in step.point.ctx.items() if each or each is None}
    return replace(step, point=replace(step.point, ctx=ctx))


def _plain_keys(step: Step) -> Step:
    values = {key: _without_signs(each) for key, each in step.locals.items()}
    return replace(step, locals=values)


def _without_signs(value: object) -> object:
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, object]", value).items()
    return {key.removeprefix("$"): _without_signs(each) for key, each in items}


def _names(step: Step) -> Step:
    messages = tuple(replace(each, name=None) for each in step.splice.messages)
    return replace(step, splice=replace(step.splice, messages=messages))


def _only_growing() -> Change:
    """Keep what stands behind the messages that were kept, as if none had changed."""
    written: list[Message] = []

    def changed(before: Step | None, step: Step) -> Step:
        if before is None:
            written.clear()
            if step.seq:  # of an agent that was built anew
                return step
        have = len(written)
        del written[step.splice.keep :]
        written.extend(step.splice.messages)
        keep = min(have, len(written))
        return replace(step, splice=Splice(keep, tuple(written[keep:])))

    return changed


def _no_addresses(step: Step) -> Step:
    return replace(step, point=replace(step.point, used=()))


def _shown_to_all(step: Step) -> Step:
    return replace(step, point=replace(step.point, shown=None))


def _told_since(before: Step | None, step: Step) -> Step:
    had = () if before is None or step.pending == () else before.point.told
    told = tuple(each for each in step.point.told if each not in had)
    return replace(step, point=replace(step.point, told=told))


def _entries(change: ChangeEntry) -> Door:
    """Keep the finished entries of a point otherwise, those within others too."""

    def changed(step: Step) -> Step:
        found = tuple(each and _changed(each) for each in step.point.entries)
        return replace(step, point=replace(step.point, entries=found))

    def _changed(entry: Entry) -> Entry | None:
        if entry.done:
            return change(entry)
        inner = (_changed(each) for each in entry.inner)
        return replace(entry, inner=tuple(each for each in inner if each is not None))

    return _each_step(changed)


def _in_one_piece(entry: Entry) -> Entry:
    if not entry.chunks or not all(isinstance(each, str) for each in entry.chunks):
        return entry
    return replace(entry, chunks=("".join(map(str, entry.chunks)),))


def _without_streams(entry: Entry) -> Entry | None:
    return entry if entry.chunks is None else None


def _without_empty(entry: Entry) -> Entry | None:
    return None if entry.text == "" else entry


def _succeeded(entry: Entry) -> Entry:
    if entry.failure is None or entry.chunks is not None:
        return entry
    return replace(entry, failure=None, text="")


def _unset(_: str, value: object) -> bool:
    return bool(value) or value is None


def _is_there(_: str, value: object) -> bool:
    return value is not GONE


FAULTS: Final[Mapping[str, tuple[str, str, Door]]] = {
    "locals-empty-not-kept": (
        "Keeps no run-local value that is false, 0 or empty.",
        "SER-008",
        _locals(_unset),
    ),
    "locals-deleted-come-back": (
        "Does not keep that a run-local value was deleted.",
        "SER-008",
        _locals(_is_there),
    ),
    "locals-first-value-kept": (
        "Keeps of each run-local value what it was first.",
        "SER-008",
        _keeping(_first_values),
    ),
    "locals-lose-dollar-signs": (
        "Keeps a key that begins with a dollar sign without it.",
        "SER-008",
        _each_step(_plain_keys),
    ),
    "context-empty-not-kept": (
        "Keeps no context value that is false, 0 or empty.",
        "SER-008",
        _each_step(_context),
    ),
    "message-names-not-kept": (
        "Does not keep the names of messages.",
        "INT-005",
        _each_step(_names),
    ),
    "history-kept-as-growing": (
        "Keeps a history as if what was kept of it could not change.",
        "INT-005",
        _keeping(_only_growing),
    ),
    "addresses-not-kept": (
        "Does not keep which addresses had an answer.",
        "INT-017",
        _each_step(_no_addresses),
    ),
    "shown-tools-not-kept": (
        "Does not keep which tools the model was told before it was interrupted.",
        "INT-005",
        _each_step(_shown_to_all),
    ),
    "told-results-kept-once": (
        "Keeps of the results that were told only those since the last interrupt.",
        "INT-012",
        _keeping(lambda: _told_since),
    ),
    "chunks-kept-as-one": (
        "Keeps the chunks of a streamed result as one.",
        "INT-005",
        _entries(_in_one_piece),
    ),
    "streamed-results-not-kept": (
        "Does not keep a streamed result beside a call that asks.",
        "INT-003 INT-005",
        _entries(_without_streams),
    ),
    "empty-results-not-kept": (
        "Does not keep a result that is empty.",
        "INT-003 INT-005",
        _entries(_without_empty),
    ),
    "failures-kept-as-results": (
        "Keeps a failure that a wrapper caught as an empty result.",
        "INT-005",
        _entries(_succeeded),
    ),
}
"""By what is kept wrongly: the fault, what it violates, and the engine."""

MUTANTS: Final[tuple[Mutant, ...]] = tuple(
    wrong(id_, about, violates, door) for id_, (about, violates, door) in FAULTS.items()
)
