"""The trace: what a world saw, in order. The only thing a verdict may rest on."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from math import nan
from typing import Any, Final, Literal, TypeAlias, cast, get_args, overload

from refengine.messages import Json, Message, MessageChunk, ToolCall
from refengine.testing.json_values import is_mapping
from refengine.tools import ToolInfo

ObservationKind: TypeAlias = Literal[
    "build",
    "build_error",
    "run_start",
    "run_end",
    "model_request",
    "model_chunk",
    "model_response",
    "model_error",
    "tool_start",
    "tool_chunk",
    "tool_end",
    "tool_error",
    "hook_enter",
    "hook_exit",
    "effect",
    "event",
    "stream_close",
    "warning",
    "ignored_change",
    "tools_removed",
    "interrupt",
    "resume",
    "checkpoint",
    "caller_object_changed",
    "result_events",
    "part_event",
    "delivery",
    "span",
]
Written: TypeAlias = "dict[int, Json]"
KINDS: Final = frozenset(get_args(ObservationKind))


@dataclass(frozen=True, slots=True)
class Observation:
    """One entry: its kind, its run (from 1; 0 is the build), its place, its call."""

    kind: ObservationKind
    run: int
    seq: int
    data: Mapping[str, object]
    call_id: str | None = None

    def canonical(self, written: Written | None = None) -> dict[str, Json]:
        """Return it as JSON values, messages and the like written out."""
        return {
            "kind": self.kind,
            "run": self.run,
            "seq": self.seq,
            "call_id": self.call_id,
            "data": to_json(self.data, written),
        }


class Trace(Sequence[Observation]):
    """The observations of a session, in order."""

    __slots__ = ("_all",)

    def __init__(self, observations: Iterable[Observation] = ()) -> None:
        self._all = tuple(observations)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> Observation | Trace:
        if isinstance(index, slice):
            return Trace(self._all[index])
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Observation]:
        return iter(self._all)

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} observations>"

    def of(self, *kinds: ObservationKind) -> Trace:
        """Return only the observations of these kinds."""
        return Trace(each for each in self._all if each.kind in kinds)

    def to_jsonl(self) -> str:
        """Return one canonical JSON object a line: sorted keys, no spaces, ASCII."""
        seen: Written = {}
        texts: dict[int, str] = {}
        return "".join(f"{_line(each, seen, texts)}\n" for each in self._all)

    @classmethod
    def from_jsonl(cls, text: str) -> Trace:
        """Read what ``to_jsonl`` wrote; messages stay JSON values."""
        return cls(_read(json.loads(line)) for line in text.splitlines())


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where two traces differ: which entry, where in it, both values.

    A side that has no entry there has ``missing`` in place of a value.
    """

    index: int
    path: str
    left: Json
    right: Json

    def __str__(self) -> str:
        where = f"observation {self.index}{' ' + self.path if self.path else ''}"
        return f"{where}: {_short(self.left)} ≠ {_short(self.right)}"


MISSING: Final = "(nothing)"
LAST: Final = 1 << 30
"""Where events stand among the entries of concurrent calls."""


def first_divergence(
    left: Iterable[object], right: Iterable[object]
) -> Divergence | None:
    """Return where two sequences first differ, or None if they are equal.

    Type-strict: 1, 1.0 and true differ. Traces are compared in call order (see
    ``comparable``), whatever order concurrent calls happened to run in.
    """
    ours, theirs = _values(left), _values(right)
    for index, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        found = None if are_alike(a, b) else difference(a, b)
        if found is not None:
            return Divergence(index, *found)
    if len(ours) == len(theirs):
        return None
    index = min(len(ours), len(theirs))
    a = ours[index] if index < len(ours) else MISSING
    b = theirs[index] if index < len(theirs) else MISSING
    return Divergence(index, "", a, b)


NAN: Final = marshal.dumps(nan, 1)
"""How it writes the number that equals nothing."""


def are_alike(a: Any, b: Any) -> bool:  # noqa: ANN401  # JSON, to marshal
    """Tell at once that two values are equal, as nearly all are; False says nothing.

    ``marshal`` keeps types and the sign of zero apart, and refuses what is of a class
    of its own. Its numbers are texts here, so one that equals nothing shows; to look
    for that text alone would find it in words, as in "unanswered".
    """
    try:
        text = marshal.dumps(a, 1)
        return text == marshal.dumps(b, 1) and NAN not in text
    except ValueError:
        return False


def difference(a: Json, b: Json, path: str = "") -> tuple[str, Json, Json] | None:
    """Return path and values of the first difference of two JSON values."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            if key not in a or key not in b:
                return f"{path}.{key}", a.get(key, MISSING), b.get(key, MISSING)
            found = difference(a[key], b[key], f"{path}.{key}")
            if found is not None:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list):
        for index, (ours, theirs) in enumerate(zip(a, b, strict=False)):
            found = difference(ours, theirs, f"{path}[{index}]")
            if found is not None:
                return found
        return _longer(a, b, path)
    return None if same(a, b) else (path, a, b)


def _longer(a: list[Json], b: list[Json], path: str) -> tuple[str, Json, Json] | None:
    """Return the first entry that only one of two lists has."""
    if len(a) == len(b):
        return None
    index = min(len(a), len(b))
    ours = a[index] if index < len(a) else MISSING
    theirs = b[index] if index < len(b) else MISSING
    return f"{path}[{index}]", ours, theirs


def same(a: Json, b: Json) -> bool:
    """Compare two scalars as canonical JSON does: 1, 1.0 and true differ."""
    return type(a) is type(b) and a == b and (a != 0 or str(a) == str(b))


def comparable(trace: Trace) -> list[dict[str, Json]]:
    """Return the entries without sequence numbers, concurrent calls in call order."""
    written: Written = {}
    entries = in_call_order(each.canonical(written) for each in trace)
    for entry in entries:
        del entry["seq"]
    return entries


def in_call_order(entries: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """Return canonical entries with those of concurrent calls in call order.

    Between two entries that belong to no call, those of different calls may have come
    in any order; they are put in the order of the model's calls, and what the consumer
    received comes after them in the order it came (contract CONC).
    """
    order: dict[str, int] = {}
    out: list[dict[str, Json]] = []
    block: list[tuple[int, dict[str, Json]]] = []
    for entry in entries:
        call_id = cast("str | None", entry["call_id"])
        if call_id is not None:
            position = order.setdefault(call_id, len(order))
            block.append((LAST if entry["kind"] == "event" else position, entry))
            continue
        out.extend(_in_call_order(block))
        block.clear()
        out.append(entry)
        if entry["kind"] == "model_response":
            order = _call_order(entry)
    out.extend(_in_call_order(block))
    return out


def to_json(value: object, written: Written | None = None) -> Json:
    """Return JSON values for anything an observation holds; raises TypeError.

    ``written`` keeps what became of each message and tool: a history is seen again in
    every request, and writing it out anew would cost more than the run. They must
    outlive it, since they are told apart by identity.
    """
    kind = value.__class__
    if kind in _SCALARS:
        return cast("Json", value)
    write = _OFTEN.get(kind)
    if write is not None:
        return write(value, written)
    if kind in _KEPT and written is not None:
        found = written.get(id(value))
        if found is None:
            found = written[id(value)] = _fields(value, written)
        return found
    if is_dataclass(kind):
        return _fields(value, written)
    return _seldom(value, written)


def _seldom(value: object, written: Written | None) -> Json:
    """Return JSON values for what is of a class that is not looked for first."""
    if is_mapping(value):
        return _mapping(value, written)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _array(cast("Sequence[object]", value), written)
    if isinstance(value, (bool, int, float, str)):  # of a class of its own
        return value
    raise TypeError(f"{type(value).__name__} cannot stand in an observation: {value!r}")


def _mapping(value: Mapping[Any, object], written: Written | None) -> dict[str, Json]:
    return {
        str(key): cast("Json", part)
        if part.__class__ in _SCALARS
        else to_json(part, written)
        for key, part in value.items()
    }


def _array(value: Sequence[object], written: Written | None) -> list[Json]:
    return [to_json(part, written) for part in value]


def _line(each: Observation, written: Written, texts: dict[int, str]) -> str:
    """Return an observation as canonical JSON.

    Nearly all messages and tools of a request were in the one before. Each is made a
    text once, which ``texts`` keeps: of a long session they are nearly all there is.
    """
    if each.kind not in _LISTING:
        return _CANONICAL(each.canonical(written))
    parts: dict[str, str] = {}
    for name, part in each.data.items():
        listed = cast("Sequence[object]", part) if name in _LISTS else ()
        if listed and all(at.__class__ in _KEPT for at in listed):
            parts[name] = f"[{','.join([_text(at, written, texts) for at in listed])}]"
        else:
            parts[name] = _CANONICAL(to_json(part, written))
    data = ",".join([f'"{name}":{parts[name]}' for name in sorted(parts)])
    call = _CANONICAL(each.call_id)
    where = f'"kind":"{each.kind}","run":{each.run},"seq":{each.seq}'
    return f'{{"call_id":{call},"data":{{{data}}},{where}}}'


def _text(value: object, written: Written, texts: dict[int, str]) -> str:
    found = texts.get(id(value))
    if found is None:
        found = texts[id(value)] = _CANONICAL(to_json(value, written))
    return found


def strict_json(value: object) -> Json:
    """Return JSON values that are just these; raises TypeError.

    ``to_json`` is for what the harness itself puts down. Here a number for a key, or
    bytes, would become something else and then equal it.
    """
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{type(value).__name__} cannot stand in an observation")
    if is_mapping(value):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{key!r} is not text, as keys of JSON are")
        return {key: strict_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict_json(part) for part in cast("Sequence[object]", value)]
    return to_json(value)


_CANONICAL: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False
).encode
_SCALARS: Final = frozenset((type(None), bool, int, float, str))
_KEPT: Final = frozenset((Message, ToolInfo))
_LISTING: Final = frozenset(("model_request", "run_start", "run_end"))
_LISTS: Final = frozenset(("messages", "tools"))
"""What these observations have lists of."""


def _fields(value: object, written: Written | None) -> Json:
    return {
        name: cast("Json", part)
        if part.__class__ in _SCALARS
        else to_json(part, written)
        for name in _names_of(cast("Any", type(value)))
        if (part := getattr(value, name)) is not None
        and (part.__class__ in _SCALARS or part)
    }


# Nearly all that is not a scalar is one of these, and asking an abstract class whether
# a value is of it costs more than all else here.
_OFTEN: Final[Mapping[type, Callable[[Any, Written | None], Json]]] = {
    dict: _mapping,
    list: _array,
    tuple: _array,
    ToolCall: _fields,
    MessageChunk: _fields,
}


@cache
def _names_of(kind: Any) -> tuple[str, ...]:  # noqa: ANN401  # a dataclass
    return tuple(each.name for each in fields(kind))


def _values(entries: Iterable[object]) -> list[Json]:
    if isinstance(entries, Trace):
        return list(comparable(entries))
    return [to_json(each) for each in entries]


def _in_call_order(
    block: Sequence[tuple[int, dict[str, Json]]],
) -> list[dict[str, Json]]:
    return [entry for _, entry in sorted(block, key=lambda each: each[0])]


def _call_order(entry: Mapping[str, Json]) -> dict[str, int]:
    data = cast("Mapping[str, Mapping[str, list[Mapping[str, str]]]]", entry["data"])
    calls = data.get("message", {}).get("tool_calls", [])
    return {call.get("id", ""): at for at, call in reversed(list(enumerate(calls)))}


def _read(line: Mapping[str, object]) -> Observation:
    kind = line["kind"]
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of observation")
    return Observation(
        cast("ObservationKind", kind),
        cast("int", line["run"]),
        cast("int", line["seq"]),
        cast("Mapping[str, object]", line["data"]),
        cast("str | None", line["call_id"]),
    )


def _short(value: Json) -> str:
    text = MISSING if value == MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:197] + "..."
