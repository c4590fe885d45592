"""What both sides show around a divergence, side by side, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, TypeAlias

from compat.report.story import message_line
from refengine.testing.channels import Entry

Line: TypeAlias = "tuple[str, str]"  # a mark ("-", "+" or " ") and a text
Value: TypeAlias = "Mapping[str, Any]"

_WITH_MESSAGES: Final = frozenset(("requests", "state", "second_turn"))
_IN_A_ROW: Final = frozenset(("effects", "tool_executions", "errors", "events"))


def beside(
    channel: str, old: Sequence[Entry], new: Sequence[Entry], at: int
) -> tuple[Line, ...]:
    """Return what stands around the entry ``at``; nothing where the values say it all.

    Messages of one request or one final state; else the channel's entries of that run.
    """
    ours: Value | None = old[at].value if at < len(old) else None
    theirs: Value | None = new[at].value if at < len(new) else None
    if channel in _WITH_MESSAGES and ours is not None and theirs is not None:
        sides = [[*map(message_line, side["messages"])] for side in (ours, theirs)]
        return () if sides[0] == sides[1] else tuple(_lines(*sides))
    if channel not in _IN_A_ROW:
        return ()
    run = (ours or theirs or {}).get("run")
    rows = [
        [_row(channel, each.value) for each in entries if each.value["run"] == run]
        for entries in (old, new)
    ]
    return tuple(_lines(*rows))


def _row(channel: str, value: Value) -> str:
    if channel == "effects":
        return f"{value['name']} {_json(value['data'])}"
    if channel == "tool_executions":
        return f"{value['call_id']}: {value['name']}({value['arguments']})"
    if channel == "errors":
        of = f" of {value['of']}" if value["of"] else ""
        return f"{value['error']} at {value['point']}{of}"
    if value["kind"] == "error":
        return "error"
    calls = "".join(f" [{c[0]}: {c[1]}({c[2]})]" for c in value["tool_calls"])
    return f"{value['kind']} {value['call_id'] or ''}: {value['text']}{calls}"


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for how, start, end, from_, to in matcher.get_opcodes():
        if how == "equal":
            yield from ((" ", text) for text in old[start:end])
        else:
            yield from (("-", text) for text in old[start:end])
            yield from (("+", text) for text in new[from_:to])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
