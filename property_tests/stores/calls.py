"""Calls on a store as data: what is played, and how it is told.

A world is a row of steps. ``by`` names a store object: ``1a`` and ``1b`` are two in the
first process, ``2a`` is one in the second; all of a world are made for one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

Do: TypeAlias = Literal[
    "append",
    "read",
    "delete",
    "keys",
    "spoil",
    "cancel",
    "race",
    "close",
    "kill",
    "doom",
]
How: TypeAlias = Literal["", "loop", "tasks", "threads", "processes"]
NEXT: Final = -1
"""Stands for the number that follows, whatever is kept there by then."""
SHOWN: Final = 24
"""So many characters of a record or key are told."""
WHOLE: Final = 64
"""So many bytes of a record are told as they are; of a longer one, its digest."""


@dataclass(frozen=True, slots=True)
class StoreStep:
    """One step of a world.

    - ``append``, ``read``, ``delete``, ``keys``: a call. ``kind`` is the type of what
      is given as ``key`` or ``record``, where it is not the right one; ``how`` is
      "loop" if the call has an event loop of its own.
    - ``spoil``: a read, whose result is then emptied in place.
    - ``cancel``: an append, cancelled after ``many`` turns of the event loop.
    - ``race``: ``many`` appends by each of ``racers`` at the same time, as tasks,
      threads or processes; their records have ``record`` in them.
    - ``close``: the object is closed, if it can be, and given up.
    - ``kill``: its process is killed.
    - ``doom``: an append or delete (``call``) in which its process is killed, at that
      ``line`` of the store's code, or ``after`` milliseconds of appends, one after
      another. ``point`` says which line: of those where a kill makes a difference.
      With ``torn``, the append comes back, the process is killed, and of what
      it added to its files that many thousandths stay.
    """

    do: Do
    by: str = "1a"
    key: str = "k"
    seq: int = NEXT
    record: str = ""
    times: int = 1
    kind: str = ""
    how: How = ""
    many: int = 0
    racers: tuple[tuple[str, str], ...] = ()
    """Who races, and under which key: ``("1a", "k")``."""
    call: Literal["append", "delete"] = "append"
    point: int = -1
    line: int = 0
    after: float = 0.0
    torn: int | None = None

    @property
    def process(self) -> str:
        """The process in which it is done."""
        return self.by[:-1]

    @property
    def json(self) -> Mapping[str, Any]:
        """The step as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoreWorld:
    """What is played on a new, empty store."""

    steps: tuple[StoreStep, ...]
    fixed: bool = True


def record_of(text: str, times: int = 1) -> bytes:
    """Return a record: each character of the text is a byte."""
    return text.encode("latin-1") * times


def shown(record: object) -> str:
    """Return what is told of a record: equal records alone have equal texts."""
    if not isinstance(record, bytes):
        return f"{type(record).__name__}, no bytes"
    if len(record) <= WHOLE:
        return repr(bytes(record))
    return f"{len(record):,} bytes, SHA-256 {sha256(record).hexdigest()[:16]}"


def raced(record: str, by: str, at: int) -> str:
    """Return the record that a racer writes as its own number ``at``."""
    return f"{by} {at} {record}"


def told(step: StoreStep) -> str:
    """Return a step in a line, as Python would have it."""
    return f"{step.by}: {_TOLD[step.do](step)}"


def _append(step: StoreStep) -> str:
    given = repr(record_of(step.record[:SHOWN]))
    if step.kind in {"bytearray", "memoryview", "str", "None"}:
        given = f"{step.kind}({given})" if step.kind != "None" else "None"
    length = len(step.record) * step.times
    if step.times > 1 or len(step.record) > SHOWN:
        given = f"{given}… {length:,} bytes"
    number = "the next" if step.seq == NEXT else step.seq
    return f"append({_key(step)}, {number}, {given}){_loop(step)}"


def _key(step: StoreStep) -> str:
    if step.kind in {"bytes", "int", "no key"}:
        return {"bytes": repr(step.key.encode()), "int": "7", "no key": "None"}[
            step.kind
        ]
    shown = ascii(step.key[:SHOWN])
    length = len(step.key)
    return shown if length <= SHOWN else f"{shown}… {length:,} characters"


def _loop(step: StoreStep) -> str:
    return " in an event loop of its own" if step.how == "loop" else ""


def _race(step: StoreStep) -> str:
    who = ", ".join(f"{by} under {key!r}" for by, key in step.racers)
    return f"{step.how} at once append {step.many} each: {who}"


def _doom(step: StoreStep) -> str:
    call = f"delete({_key(step)})" if step.call == "delete" else _append(step)
    if step.torn is not None:
        stay = f"{step.torn / 10:g} % of what it added to its files stay"
        return f"{call}, kill -9, and {stay}"
    if step.after:
        return f"{call} and so on, kill -9 after {step.after:g} ms"
    where = f"at line {step.line} of the store's code" if step.line else "in it"
    return f"{call}, kill -9 {where}"


_TOLD: Final[Mapping[Do, Callable[[StoreStep], str]]] = {
    "append": _append,
    "read": lambda step: f"read({_key(step)}){_loop(step)}",
    "delete": lambda step: f"delete({_key(step)})",
    "keys": lambda step: f"keys(){_loop(step)}",
    "spoil": lambda step: f"read({_key(step)}), and empty the list",
    "cancel": lambda step: f"{_append(step)}, cancelled after {step.many} turns",
    "race": _race,
    "close": lambda _: "close it",
    "kill": lambda _: "kill -9 between calls",
    "doom": _doom,
}


def processes(steps: Sequence[StoreStep]) -> set[str]:
    """Return the processes that a world needs."""
    racing = {by[:-1] for each in steps for by, _ in each.racers}
    return {each.process for each in steps} | racing
