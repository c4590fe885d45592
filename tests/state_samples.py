"""Steps with all that a record can hold: what golden files and fuzzing are made of.

A sample is not changed any more: its golden file stands for what was written then. A
new field of a record gets a sample of its own.

    python -m tests.state_samples tests/golden/checkpoints/v1

writes the golden files of the format.
"""

from __future__ import annotations

import argparse
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Final, cast
from uuid import UUID

from refengine.events import AgentAction
from refengine.interrupts import Address, Pending
from refengine.messages import (
    FrozenDict,
    Json,
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
)
from refengine.resume.checkpoint import (
    GONE,
    Changes,
    Entry,
    Failure,
    Phase,
    Point,
    Splice,
    Start,
    Step,
)
from refengine.state.codec import encode_step
from refengine.state.values import Types

WRITER: Final = "refengine golden"
"""Who is told to have written the samples, so that a release changes no file."""


class Mood(enum.Enum):
    """An enum among the values."""

    CALM = 1
    CROSS = "x"


@dataclass(frozen=True)
class Note:
    """A dataclass with values that need names of their own."""

    text: str
    tags: frozenset[str]
    mood: Mood


@dataclass(frozen=True)
class Money:
    """A class with an encoding of its own."""

    cents: int
    currency: str


def sample_types(*, keep_unknown: bool = False) -> Types:
    """Return the registry that the samples are written with."""
    types = Types(keep_unknown=keep_unknown)
    types.register_enum("mood", Mood)
    types.register_dataclass("note", Note)
    types.register("money", Money, encode=_money, decode=_to_money)
    return types


def samples() -> Mapping[str, Step]:
    """Return the steps by name."""
    return {
        "start": _first(),
        "tools": _tools(),
        "values": _valued(),
        "interrupted": _interrupted(),
        "streams": _streams(),
        "texts": _texts(),
        "onion": _onion(60),
        "changes": _changed(),
        "questions": _answered_before(),
        **{f"phase-{phase.replace('_', '-')}": _at(phase) for phase in _PHASES},
    }


_PHASES: Final[tuple[Phase, ...]] = (
    "iteration",
    "before",
    "model",
    "after",
    "tools",
    "after_agent",
    "end",
)
_START: Final = Start("helper", "seed-001", True, 2, True)  # noqa: FBT003  # as fields
_CALLS: Final = (
    ToolCall("c0", "search", '{"q": "a \\"b\\""}'),
    ToolCall("c1", "drop_table", ""),
)
_CALLING: Final = Message("assistant", "let me look", _CALLS, id="m3")


def _money(value: Money) -> object:
    return [value.cents, value.currency]


def _to_money(data: list[object]) -> Money:
    cents, currency = data
    if not isinstance(cents, int) or not isinstance(currency, str):
        raise TypeError("money is a number and a currency")
    return Money(cents, currency)


def _first() -> Step:
    messages = (
        Message("system", "Be brief."),
        Message("user", "hi", name="ann", extra={"lang": "en", "path": [1, {"a": []}]}),
        Message("user"),
    )
    return Step(0, 1, Splice(0, messages), Point(), start=_START)


_ACTION = AgentAction(transfer_to="billing", state_delta={"n": 1})


def _tools() -> Step:
    point = Point(
        phase="tools",
        at=3,
        sent=Splice(1, (Message("user", "shorter"),)),
        entries=(
            Entry("tool", "search", done=True, text="found", action=_ACTION),
            None,
            Entry("tool", "late", done=True, failure=Failure("OSError", "no", -1)),
        ),
        attempt=2,
        shown=("search", "drop_table"),
        told=(0, 2),
        answer=_CALLING,
    )
    return Step(1, 1, Splice(3, (_CALLING,)), point)


def _valued() -> Step:
    zone = timezone(timedelta(hours=-3, minutes=-30), "NST")
    values: dict[str, object] = {
        "none": None,
        "truths": [True, False],
        "numbers": [0, -1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, 5e-324, 1.0],
        "tuple": (1, (2, [3]), ()),
        "sets": [{3, 1, 2}, frozenset({"b", "a"}), set[int](), {(1, "x")}],
        "bytes": b"\x00\xff\n",
        "moments": [
            datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC, fold=1),
            datetime(2026, 2, 3, tzinfo=zone),
            datetime(1, 1, 1),  # noqa: DTZ001  # one without a zone comes back so
            date(2026, 12, 31),
            time(1, 2, 3, tzinfo=zone),
            timedelta(days=-1, microseconds=1),
        ],
        "exact": [Decimal("-0.10"), Decimal("1E+40"), UUID(int=7)],
        "frozen": FrozenDict({"a": (1, 2)}),
        "own": Note("n", frozenset({"t"}), Mood.CROSS),
        "money": [Money(5, "EUR"), {"in a dict": Money(-1, "USD")}],
        "escaped": {"$type": "set", "$version": 1, "$data": [], "$$": {"$": "$"}},
    }
    ctx: dict[str, object] = {"user": ("ann", 1), "mood": Mood.CALM, "": {}}
    extra = cast("Mapping[str, Json]", {"at": date(2026, 1, 1), "in": (Mood.CALM,)})
    result = Message("tool", "x", tool_call_id="c0", extra=extra)
    point = Point(phase="before", at=1, ctx=ctx)
    return Step(2, 1, Splice(5, (result,)), point, {**values, "old": GONE})


def _interrupted() -> Step:
    waits = Pending(
        Address(("helper",), 2, "tool", "drop_table", "drop_table", "c1"),
        {"ask": "sure?", "rows": (1, 2)},
    )
    again = Pending(
        Address(("helper", "sub"), 2, "before_model", "gate", ordinal=3), None
    )
    inside = Entry("tool", "drop_table", waiting=waits, answers=("why", None, 1.5))
    layer = Entry(
        "wrap_invokable_tool_call",
        "gate",
        inner=(Entry("tool", "drop_table", done=True, text=""), inside),
    )
    point = Point(phase="tools", entries=(None, layer), told=(0,), answer=_CALLING)
    return Step(3, 2, Splice(4, ()), point, pending=(waits, again))


def _streams() -> Step:
    pieces = (
        MessageChunk("he", (ToolCallChunk(0, "c0", "search", "{"),), "m4", "bot"),
        MessageChunk("", (ToolCallChunk(0, arguments="}"), ToolCallChunk())),
        MessageChunk("y", extra={"usage": {"out": 3}}),
    )
    model = Entry("wrap_model_call", "cache", done=True, chunks=pieces)
    broken = Failure("ModelError", "the model raised\nTimeoutError", 2)
    tool = Entry("tool", "tail", done=True, chunks=("a", "", "b"), failure=broken)
    said = Entry("model", "", done=True, message=_CALLING)
    return Step(4, 3, Splice(2, ()), Point(phase="model", entries=(model, tool, said)))


def _texts() -> Step:
    # A half of a character alone, both halves apart, and a whole one.
    hard = '\ud800 \ud83d\ude00 \N{GRINNING FACE} \x00\u2028"\\'
    message = Message("user", hard, name="\udfff", extra={hard[0]: hard[-1]})
    kept = {"text": hard, "é": "é"}
    return Step(5, 3, Splice(0, (message,)), Point(status=hard), kept)


def _changed() -> Step:
    """Return a step with finished entries that changed the input of their call."""
    inside = Entry(
        *("wrap_invokable_tool_call", "masks", True, "found"),
        changes=Changes(arguments='{"q": ""}', call_id=""),
    )
    layer = Entry("wrap_invokable_tool_call", "gate", inner=(inside,))
    taken = Changes("find", None, "own", "own", ("find", "c1"))
    done = Entry("call", "search", done=True, text="", changes=taken)
    return Step(
        *(4, 1, Splice(3, ())),
        Point(phase="tools", entries=(layer, done), answer=_CALLING),
    )


def _answered_before() -> Step:
    """Return a step in which who asked has its answers, and the questions."""
    first = Address(("helper",), 2, "wrap_invokable_tool_call", "gate", "search", "c0")
    again = replace(first, ordinal=2)
    caught = Failure("FileNotFoundError", "gone", -1, "OSError")
    inside = Entry(
        *("wrap_invokable_tool_call", "masks", True),
        failure=caught,
        changes=Changes(action=_ACTION),
    )
    layer = Entry(
        *("wrap_invokable_tool_call", "gate"),
        inner=(inside,),
        answers=(True, None),
        asked=({"read": 1}, "again?"),
    )
    point = Point(phase="tools", entries=(layer,), answer=_CALLING, used=(first, again))
    return Step(5, 2, Splice(4, ()), point)


def _onion(layers: int) -> Step:
    entry = Entry("model", "", done=False)
    for at in range(layers):
        entry = Entry("wrap_model_call", f"h{at}", inner=(entry,))
    return Step(6, 4, Splice(9, ()), Point(phase="model", entries=(entry,)))


def _at(phase: Phase) -> Step:
    status = "completed" if phase == "end" else None
    return Step(7, 4, Splice(9, ()), Point(phase=phase, at=2, status=status))


def golden() -> Iterator[tuple[str, bytes]]:
    """Yield each sample's file name and bytes, as this version writes it."""
    types = sample_types()
    for name, step in samples().items():
        yield f"{name}.ckpt", encode_step(step, types, writer=WRITER)


def write(folder: Path) -> list[Path]:
    """Write the files that are not there yet, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [(folder / name, each) for name, each in golden()]
    written = [(path, each) for path, each in missing if not path.exists()]
    for path, each in written:
        path.write_bytes(each)
    return [path for path, _ in written]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the golden files to the folder that is given, and name them."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.state_samples", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="tests/golden/checkpoints/v1")
    for path in write(parser.parse_args(arguments).folder):
        print(f"wrote {path}")  # noqa: T201  # a command answers


if __name__ == "__main__":
    main()
