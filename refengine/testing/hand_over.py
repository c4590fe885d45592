"""A session that is handed over: one process keeps a run, another one goes on with it.

    first half    played up to the scenario's ``hand_over``, where it is ``left``
    second half   played from what was ``given``, by other objects and other versions

All that goes from one to the other is JSON: where the world stands, what the player of
a subject's shape needs to go on, and files as bytes. What was kept in memory is in it
as the bytes that the subject's own store makes of it; nothing here reads them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, cast

from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.trace import Trace

HANDED_OVER: Final = "handed_over"
"""The operation of a checkpoint under which it is put down what a side was handed."""
DEEPEST: Final = 4
"""So deep is looked for what a value is made of."""


@dataclass(frozen=True, slots=True)
class LeftSession:
    """What a process leaves of a session, in the middle of a run or after one.

    ``run`` is the last one that began, ``world`` where the world stands, and
    ``session`` what whoever plays this shape needs to go on.
    """

    run: int
    world: Mapping[str, Json]
    session: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def json(self) -> dict[str, Any]:
        """It as JSON values."""
        return asdict(self)


@dataclass(slots=True)
class SessionHalf:
    """Which half is played: the first where nothing is ``given``; what it ``left``."""

    given: LeftSession | None = None
    left: LeftSession | None = None

    def plays(self, number: int) -> bool:
        """Tell whether the run with that number, from 1, is in this half."""
        return self.left is None and (self.given is None or number >= self.given.run)


def half_of(request: Mapping[str, Any]) -> SessionHalf | None:
    """Return the half of a session that is asked for; None if it is a whole one."""
    if "half" not in request:
        return None
    given = request["half"]
    return SessionHalf(None if given is None else LeftSession(**given))


def calls_made(trace: Trace, run: int) -> list[str | None]:
    """Return the ids of the calls that came to an end in a run."""
    return [each.call_id for each in trace.of("tool_end") if each.run == run]


def handed_over(
    left: LeftSession,
    *,
    messages: Sequence[Json],
    values: Json,
    types: Mapping[str, Json],
    pending: Sequence[Json],
) -> dict[str, Any]:
    """Return what is put down of what a side has of a run that it was handed."""
    return {
        "op": HANDED_OVER,
        "messages": messages,
        "values": values,
        "types": types,
        "were": left.session.get("types", {}),
        "pending": pending,
        "ran": left.session["ran"],
    }


def with_files(left: LeftSession, files: Mapping[str, bytes]) -> LeftSession:
    """Return what is left of a session with the files that it wrote."""
    return replace(left, files={name: as_text(each) for name, each in files.items()})


def files_of(half: SessionHalf | None) -> dict[str, bytes]:
    """Return the files that a half begins with."""
    given = None if half is None else half.given
    return {} if given is None else {n: as_bytes(t) for n, t in given.files.items()}


def as_text(data: bytes) -> str:
    """Return bytes as a text that JSON can hold."""
    return b64encode(data).decode()


def as_bytes(text: object) -> bytes:
    """Return the bytes of such a text."""
    return b64decode(cast("str", text))


def types_in(
    value: object, path: str = "", deep: int = DEEPEST
) -> Iterator[tuple[str, Json]]:
    """Yield the type of each part of a value by its path; not that of the whole."""
    if path:
        yield path, _name(type(value))
    if not deep:
        return
    for step, part in _parts(value):
        yield from types_in(part, f"{path}{step}", deep - 1)


def _parts(value: object) -> Sequence[tuple[str, object]]:
    if is_mapping(value):
        return [(f".{key}", part) for key, part in value.items()]
    if is_list(value):
        return [(f"[{at}]", part) for at, part in enumerate(value)]
    return ()


def _name(kind: type) -> str:
    """Return how a class is called, as a person would import it."""
    if kind.__module__ in {"builtins", "__main__"}:
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
