"""Where an engine first does otherwise than the reference engine, in one world.

The reference engine judges nobody: a check decides. But a failure often is the late
effect of an early cause, and failures whose worlds begin to differ in the same way
likely have the same one. So this is told beside a failure, and they are grouped by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from compat.profiles.confirming import projected
from compat.verdicts.conformance import FirstDivergence
from refengine.messages import Json
from refengine.testing.trace import (
    MISSING,
    Divergence,
    Trace,
    comparable,
    first_divergence,
)

Entry: TypeAlias = "Mapping[str, Json]"
Read: TypeAlias = Callable[[Trace], Sequence[Entry]]

RECEIVED: Final = frozenset(("event", "stream_close", "model_chunk"))
"""What an engine that runs ahead of its consumer rightly gives at other times."""
END: Final = "the end"
_NUMBERS: Final = re.compile(r"\[\d+\]")
DEPTH: Final = 2
"""So many steps into an observation are part of a sign; of an error one is enough."""


def first_apart(right: Trace, theirs: Trace) -> FirstDivergence | None:
    """Return where a trace first differs from that of the reference engine.

    What stands inside the run comes before what its consumer received, and both before
    their order among each other; notices and texts of errors come last of all.
    """
    for read in cast("Sequence[Read]", (projected, comparable)):
        ours, others = read(right), read(theirs)
        for one, other in zip(_parts(ours), _parts(others), strict=True):
            found = first_divergence(one, other)
            if found is not None:
                return _told(found, one, other)
    return None


def _parts(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    yield [each for each in entries if each["kind"] not in RECEIVED]
    yield [each for each in entries if each["kind"] in RECEIVED]
    yield entries


def _told(
    found: Divergence, ours: Sequence[Entry], theirs: Sequence[Entry]
) -> FirstDivergence:
    right, other = _at(ours, found.index), _at(theirs, found.index)
    named, seen = _name(right), _name(other)
    where = found.path.removeprefix(".data").removeprefix(".")
    if named != seen:
        return FirstDivergence(
            sign=f"{seen} instead of {named}", expected=_shown(right), got=_shown(other)
        )
    return FirstDivergence(
        sign=f"{_field(where)} of {named}",
        expected=cast("Any", {"in": named, where: found.left}),
        got=cast("Any", {"in": named, where: found.right}),
    )


def _field(path: str) -> str:
    steps = _NUMBERS.sub("", path).split(".")
    return ".".join(steps[: 1 if steps[0] == "error" else DEPTH])


def _at(entries: Sequence[Entry], index: int) -> Entry | None:
    return entries[index] if index < len(entries) else None


def _name(entry: Entry | None) -> str:
    """Return the kind of an entry, with the hook or the kind of event that it is of."""
    if entry is None:
        return END
    data = cast("Mapping[str, Any]", entry["data"])
    kind = str(entry["kind"])
    part = {"hook_enter": "hook", "hook_exit": "hook", "event": "kind"}.get(kind, "")
    more = data.get(part, data.get("status") if kind == "run_end" else None)
    return f"{kind} {more}" if more else kind


def _shown(entry: Entry | None) -> Any:  # noqa: ANN401  # a JSON value
    """Return an entry without what every entry has."""
    if entry is None:
        return MISSING
    kept = {key: each for key, each in entry.items() if key != "data" and each}
    return {**kept, **cast("Mapping[str, Any]", entry["data"])}
