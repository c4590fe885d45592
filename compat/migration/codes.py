"""Typed divergences: the codes, and which of them a difference has.

Source: verdicts, Migration. The list is closed, and stands in ``codes.json`` with what
each code says about NEW; codes are stable, for machines. Which one it is, is found by
what one channel shows: in two entries, or in two sequences.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from compat.migration.differences import step
from compat.verdicts.migration import Severity
from refengine.messages import Json
from refengine.testing.json_values import is_mapping
from refengine.testing.person import SHOWN
from refengine.testing.trace import MISSING

Value: TypeAlias = "Mapping[str, Any]"
Named: TypeAlias = "tuple[str, str, Json, Json]"  # code, rest of the path, both values
Naming: TypeAlias = Callable[[Value, Value, str], Named]


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means; ``summary`` is one sentence about NEW."""

    severity: Severity
    summary: str


def _codes() -> Mapping[str, Code]:
    text = files("compat.migration").joinpath("codes.json").read_text("utf-8")
    return {name: Code(**each) for name, each in json.loads(text).items()}


CODES: Final = MappingProxyType(_codes())
"""Every code, by name."""

SEQUENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "effects": ("EFFECT_LOST", "EFFECT_EXTRA"),
        "tool_executions": ("MISSING_CALL", "EXTRA_CALL"),
        "errors": ("ERROR_LOST", "ERROR_NEW"),
        "stored_events": ("STORED_LOST", "STORED_EXTRA"),
        "parts": ("PART_LOST", "PART_EXTRA"),
        "part_events": ("PART_EVENT", "PART_EVENT"),
        "deliveries": ("DELIVERY_LOST", "DELIVERY_EXTRA"),
    }
)
"""Channels whose entries may be lost or added, and what that is called."""

_OTHERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "events": "EVENT_ORDER",
        "observed": "OBSERVED",
        "chunks": "CHUNKS",
        "interleaving": "INTERLEAVING",
        "pairing": "PAIRING",
        "caller_objects": "CALLER_CHANGED",
        "saved": "SAVED",
        "checkpoints": "STATE_KEPT",
        "handed_over": "HAND_OVER_CHANGED",
        "nodes": "NODES",
        "wrapping": "ERROR_WRAPPED",
        "waits": "WAITS",
    }
)


def missing(channel: str, *, added: bool) -> str:
    """Return the code of an entry that only one side has."""
    if channel in {"requests", "model_calls"}:
        return "EXTRA_CALL" if added else "MISSING_CALL"
    return _OTHERS.get(channel, "STATUS")


def sequence(channel: str, old: Sequence[Value], new: Sequence[Value]) -> Named:
    """Name the first place where two sequences part, things lost and added aligned.

    They are aligned by what a person takes for the same thing: what is done on both
    sides, though with other options or at another time, is neither lost nor added. The
    code is CHANGED if entries of one run stand in each other's place; then the path is
    the index of the pair.
    """
    known = _SAME_THING.get(channel)
    ours, theirs = ([_text(_only(each, known)) for each in side] for side in (old, new))
    if ours == theirs:
        at = _first_unlike(list(map(_text, old)), list(map(_text, new)))
        return "CHANGED", f"[{at}]", old[at], new[at]
    if sorted(ours) == sorted(theirs):
        at = _first_unlike(ours, theirs)
        return "ORDER", f"[{at}]", old[at], new[at]
    lost, added = SEQUENCES[channel]
    how, at, until, there, to = _first_change(ours, theirs)
    if how == "replace" and until - at == to - there and at == there:
        here, other = (each.get("run", 0) for each in (old[at], new[there]))
        if here == other:
            return "CHANGED", f"[{at}]", old[at], new[there]
        until += here < other  # what only the earlier run has is told
    if until - at > to - there:
        return lost, f"[{at}]", old[at], MISSING
    return added, f"[{there}]", MISSING, new[there]


_SAME_THING: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "effects": ("run", "name", "data"),
        "tool_executions": ("run", "call_id", "name", "arguments"),
    }
)
"""What makes an entry of a channel the same thing; without it, all of it does."""


def _only(entry: Value, keys: tuple[str, ...] | None) -> Value:
    return entry if keys is None else {key: entry[key] for key in keys}


def _first_unlike(ours: Sequence[str], theirs: Sequence[str]) -> int:
    pairs = enumerate(zip(ours, theirs, strict=True))
    return next(at for at, (one, other) in pairs if one != other)


def _first_change(
    ours: Sequence[str], theirs: Sequence[str]
) -> tuple[str, int, int, int, int]:
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    return next(each for each in matcher.get_opcodes() if each[0] != "equal")


def _request(old: Value, new: Value, _: str) -> Named:
    if old["run"] != new["run"]:  # one side made fewer calls in an earlier run
        if new["run"] > old["run"]:
            return "MISSING_CALL", "", dict(old), MISSING
        return "EXTRA_CALL", "", MISSING, dict(new)
    if _text(old["messages"]) != _text(new["messages"]):
        return _messages(old["messages"], new["messages"])
    if _text(old["tools"]) != _text(new["tools"]):
        return _tools(old["tools"], new["tools"])
    return _typed("SETTINGS", ".options", old["options"], new["options"])


def other_call(at: int, old: Sequence[Value], new: Sequence[Value]) -> str | None:
    """Return the code if the requests at an index are different calls altogether.

    They begin differently, and one side makes more of them in that run.
    """
    run = old[at]["run"]
    more = sum(each["run"] == run for each in new) - sum(
        each["run"] == run for each in old
    )
    begins = [_text(each[at]["messages"][:1]) for each in (old, new)]
    if not more or begins[0] == begins[1]:
        return None
    return "EXTRA_CALL" if more > 0 else "MISSING_CALL"


def _messages(old: Sequence[Value], new: Sequence[Value]) -> Named:
    ours, theirs = list(map(_text, old)), list(map(_text, new))
    if sorted(ours) == sorted(theirs):
        at = _first_unlike(ours, theirs)
        return "ORDER", f".messages[{at}]", old[at], new[at]
    _, at, until, there, to = _first_change(ours, theirs)
    left = old[at] if until > at else MISSING
    right = new[there] if to > there else MISSING
    path = f".messages[{at}]"
    if at == there == 0 and _is_instruction(left, right, ours[until:] == theirs[to:]):
        return "INSTRUCTION", path, left, right
    if until - at > to - there:
        return "MESSAGE_LOST", path, left, MISSING if to == there else right
    if until - at < to - there:
        return "MESSAGE_ADDED", f".messages[{there}]", left, right
    (was, ours_rest), (now, theirs_rest) = _marked(left), _marked(right)
    if was != now and ours_rest == theirs_rest:
        return "MARKS", f"{path}.extra.status", was, now
    return _typed("MESSAGE_CHANGED", path, left, right)


def _marked(message: Json) -> tuple[Json, str]:
    """Return by what a framework marks a result, and the message without that."""
    if not is_mapping(message) or not is_mapping(message.get("extra")):
        return MISSING, _text(message)
    extra = dict(message["extra"])
    status: Json = extra.pop("status", MISSING)
    rest = {key: value for key, value in message.items() if key != "extra"}
    return status, _text({**rest, "extra": extra} if extra else rest)


def _is_instruction(old: Json, new: Json, rest: bool) -> bool:  # one call
    """Tell whether it is the first system message that differs, or is missing."""
    roles = [m.get("role") for m in (old, new) if isinstance(m, Mapping)]
    return set(roles) == {"system"} and (rest or len(roles) == 2)


def _tools(old: Sequence[Value], new: Sequence[Value]) -> Named:
    same = Counter(map(_text, old)) == Counter(map(_text, new))
    code = "TOOLS_ORDER" if same else "TOOLS_MERGE"
    return (
        code,
        ".tools",
        [each["name"] for each in old] if _names(old) != _names(new) else list(old),
        [each["name"] for each in new] if _names(old) != _names(new) else list(new),
    )


def _names(tools: Sequence[Value]) -> list[str]:
    return [each["name"] for each in tools]


def _execution(old: Value, new: Value, _: str) -> Named:
    for key, code in (
        ("name", "TOOL_REPLACED"),
        ("implementation", "TOOL_REPLACED"),
        ("arguments", "TOOL_ARGUMENTS"),
        ("options", "SETTINGS"),
    ):
        if _text(old[key]) != _text(new[key]):
            return code, f".{key}", old[key], new[key]
    return "PAIRING", ".call_id", old["call_id"], new["call_id"]


def _event(old: Value, new: Value, _: str) -> Named:
    asks = "interrupt" in (old["kind"], new["kind"])
    failed, fails = _ends_in_error(old), _ends_in_error(new)
    if failed != fails and not asks:
        code = "ERROR_NEW" if fails else "ERROR_LOST"
        coded = _error_code(old) or _error_code(new)
        path, look = (
            (".more.error_code", _error_code) if coded else (".failed", _failed)
        )
        return code, path, look(old), look(new)
    if old.get("author") != new.get("author"):
        return "AUTHOR", ".author", old.get("author"), new.get("author")
    if asks and old["kind"] != new["kind"]:
        return "ASKED", ".kind", _asked(old), _asked(new)
    for key in ("kind", "call_id", "action", "payloads"):
        if _text(old.get(key)) != _text(new.get(key)):
            order = "EVENT_ORDER" if key in _WHICH else "EVENT_CHANGED"
            return (
                "ASKED" if asks else order,
                f".{key}",
                old.get(key, MISSING),
                new.get(key, MISSING),
            )
    return _told(old, new)


_WHICH: Final = frozenset(("kind", "call_id"))
"""What tells an event from another: where it differs, another one is received."""


def _asked(event: Value) -> Json:
    """Return what an event asks a person, MISSING if it asks nothing."""
    asks = event["kind"] == "interrupt"
    asked: Json = event.get("payloads", []) if asks else MISSING
    return asked


def _told(old: Value, new: Value) -> Named:
    """Name what differs of two events of one kind that both tell no error."""
    ours, theirs = map(_error_code, (old, new))
    if ours != theirs:
        return "ERROR_CLASS", ".more.error_code", ours, theirs
    for key in ("text", "streamed", "tool_calls", "responses", "actions", "more"):
        left, right = old.get(key, MISSING), new.get(key, MISSING)
        if _text(left) != _text(right):
            is_text = key in {"text", "streamed"}
            code = "STREAM_TEXT" if is_text else "EVENT_CHANGED"
            return code, f".{key}", left, right
    return "EVENT_CHANGED", "", old, new


def _error_code(event: Value) -> Json:
    more: Value = event.get("more") or {}
    code: Json = more.get("error_code")
    return code


def _ends_in_error(event: Value) -> bool:
    """Tell whether an event says that something failed, as some frameworks' do."""
    coded = bool(_error_code(event))
    return event["kind"] == "error" or bool(event["failed"]) or coded


def _failed(event: Value) -> Json:
    found: Json = event.get("failed", MISSING)
    return found


def _error(old: Value, new: Value, _: str) -> Named:
    if old["error"] != new["error"]:
        return "ERROR_CLASS", ".error", old["error"], new["error"]
    if _text(old.get("cause")) != _text(new.get("cause")):
        left, right = old.get("cause", MISSING), new.get("cause", MISSING)
        return "ERROR_CAUSE", ".cause", left, right
    return "ERROR_POINT", "", _point(old), _point(new)


def _point(error: Value) -> Json:
    return {key: error[key] for key in ("point", "of", "call") if error.get(key)}


def _effect(old: Value, new: Value, _: str) -> Named:
    for key in ("name", "data"):
        if _text(old[key]) != _text(new[key]):
            if (asked := _shown(old["data"], new["data"])) is not None:
                return "ASKED", f".data.{SHOWN}", *asked
            return _typed("EFFECT_CHANGED", f".{key}", old[key], new[key])
    key = "after" if _text(old["after"]) != _text(new["after"]) else "call_id"
    return "ORDER", f".{key}", old[key], new[key]


def _shown(old: Json, new: Json) -> tuple[Json, Json] | None:
    """Return what a person is shown about a call, where that alone differs."""
    if not (is_mapping(old) and is_mapping(new) and SHOWN in old and SHOWN in new):
        return None
    is_all = all(_text(old.get(e)) == _text(new.get(e)) for e in {*old, *new} - {SHOWN})
    return (old[SHOWN], new[SHOWN]) if is_all else None


def _end(old: Value, new: Value, _: str) -> Named:
    for key, code in (("status", "STATUS"), ("answer", "ANSWER")):
        if _text(old.get(key)) != _text(new.get(key)):
            return code, f".{key}", old.get(key), new.get(key)
    if _text(old.get("messages")) == _text(new.get("messages")):
        if _text(old.get("values")) != _text(new.get("values")):
            return _value(old.get("values") or {}, new.get("values") or {})
        return "STATUS", ".run", old["run"], new["run"]
    code, path, left, right = _messages(old["messages"], new["messages"])
    return (
        "STATE_LOST" if code == "MESSAGE_LOST" else "STATE_CHANGED",
        path,
        left,
        right,
    )


def _value(old: Value, new: Value) -> Named:
    """Name a key of a state besides its messages; one that is only new is the last."""
    keys = sorted({*old, *new}, key=lambda key: (key not in old, key))
    key = next(k for k in keys if _text(old.get(k)) != _text(new.get(k)))
    left, right = old.get(key, MISSING), new.get(key, MISSING)
    if key not in new:
        return "STATE_LOST", f".values{step(key)}", left, right
    return _typed("STATE_CHANGED", f".values{step(key)}", left, right)


def _stored_event(old: Value, new: Value, _: str) -> Named:
    """Name what differs of two events that a session keeps."""
    if old["author"] != new["author"]:
        return "AUTHOR", ".author", old["author"], new["author"]
    for key in ("messages", "actions", "more"):
        if _text(old.get(key)) != _text(new.get(key)):
            left, right = old.get(key, MISSING), new.get(key, MISSING)
            return _typed("STORED_CHANGED", f".{key}", left, right)
    return "STORED_CHANGED", ".run", old["run"], new["run"]


def _scopes(old: Value, new: Value, _: str) -> Named:
    """Name the first key of a state that differs, by its scope."""
    scopes = sorted({*old, *new} - {"run"})
    differing = (s for s in scopes if _text(old.get(s)) != _text(new.get(s)))
    scope = next(differing, None)
    if scope is None:
        return "STATUS", ".run", old["run"], new["run"]
    code, path, left, right = _value(old.get(scope) or {}, new.get(scope) or {})
    return code, path.replace(".values", f".{scope}", 1), left, right


def _kept_artifacts(old: Value, new: Value, _: str) -> Named:
    if _text(old["names"]) == _text(new["names"]):
        return "STATUS", ".run", old["run"], new["run"]
    _, path, left, right = _value(old["names"], new["names"])
    return "ARTIFACT", path.replace(".values", ".names", 1), left, right


def _saved(old: Value, new: Value, _: str) -> Named:
    """Name what differs of a session in a store: its id, a message, a value."""
    if old.get("session") != new.get("session") or old["run"] != new["run"]:
        return "SAVED", "", dict(old), dict(new)
    if _text(old.get("messages")) == _text(new.get("messages")):
        _, path, left, right = _value(old.get("values") or {}, new.get("values") or {})
        return "SAVED", path, left, right
    if old.get("messages") is None or new.get("messages") is None:
        return "SAVED", ".messages", old.get("messages"), new.get("messages")
    _, path, left, right = _messages(old["messages"], new["messages"])
    return "SAVED", path, left, right


OPEN: Final = frozenset(("streaming", "ready", "executing"))
"""The states of a part of which something is still to come."""


def _part(old: Value, new: Value, _: str) -> Named:
    states = old["state"], new["state"]
    if states[0] != states[1]:
        opened = not OPEN.isdisjoint(states)
        return "PART_OPEN" if opened else "PART_CHANGED", ".state", *states
    return _first_key("PART_CHANGED", old, new)


def _part_event(old: Value, new: Value, _: str) -> Named:
    return _first_key("PART_EVENT", old, new)


def _delivery(old: Value, new: Value, _: str) -> Named:
    if old["callback"] == new["callback"] and _text(old["to"]) != _text(new["to"]):
        return "DELIVERED_TO", ".to", old["to"], new["to"]
    return _first_key("DELIVERY_CHANGED", old, new)


def _first_key(code: str, old: Value, new: Value) -> Named:
    keys = sorted({*old, *new})
    key = next(k for k in keys if _text(old.get(k)) != _text(new.get(k)))
    return _typed(code, f".{key}", old.get(key, MISSING), new.get(key, MISSING))


def _nodes(old: Value, new: Value, _: str) -> Named:
    """Name what differs of the nodes of a run, first how many steps it needs."""
    return _first_key("NODES", old, new)


def _checkpoint(old: Value, new: Value, channel: str) -> Named:
    """Name what differs of two steps; a message by its place, a value by its key."""
    if _text(old["messages"]) != _text(new["messages"]):
        _, path, left, right = _messages(old["messages"], new["messages"])
        return "STATE_KEPT", path, left, right
    if _text(old["locals"]) != _text(new["locals"]):
        _, path, left, right = _value(old["locals"], new["locals"])
        return "STATE_KEPT", path.replace(".values", ".locals", 1), left, right
    return _other(old, new, channel)


def _handed_over(old: Value, new: Value, channel: str) -> Named:
    """Name what differs of a run that was handed over: what is lost, then types."""
    for key, code in (("values", "HAND_OVER_CHANGED"), ("types", "HAND_OVER_TYPE")):
        if _text(old[key]) != _text(new[key]):
            _, path, left, right = _value(old[key], new[key])
            return code, path.replace(".values", f".{key}", 1), left, right
    return _other(old, new, channel)


def _pairing(old: Value, new: Value, channel: str) -> Named:
    both = sorted(old.keys() & new.keys())
    key = next((k for k in both if _text(old[k]) != _text(new[k])), None)
    if key is None:  # only one side keeps what the run left
        return _other(old, new, channel)
    if key == "run":
        return "PAIRING", ".run", old[key], new[key]
    return "PAIRING", f".{key}", [*old[key]], [*new[key]]


def _other(old: Value, new: Value, channel: str) -> Named:
    code = _OTHERS.get(channel, "STATUS")
    if old.get("kind") == new.get("kind") == "run_end":
        return "MARKS", ".data", old["data"], new["data"]
    if channel == "ways":
        return "WAY_LOST", ".way", old["way"], new["way"]
    key = next(
        k for k in sorted({*old, *new}) if _text(old.get(k)) != _text(new.get(k))
    )
    return code, f".{key}", old.get(key, MISSING), new.get(key, MISSING)


_BY_CHANNEL: Final[Mapping[str, Naming]] = MappingProxyType(
    {
        "requests": _request,
        "tool_executions": _execution,
        "events": _event,
        "errors": _error,
        "effects": _effect,
        "stored_events": _stored_event,
        "scope_state": _scopes,
        "artifacts": _kept_artifacts,
        "saved": _saved,
        "parts": _part,
        "part_events": _part_event,
        "deliveries": _delivery,
        "pairing": _pairing,
        "checkpoints": _checkpoint,
        "handed_over": _handed_over,
        "nodes": _nodes,
        "answer": _end,
        "state": _end,
        "second_turn": _end,
    }
)


def name(channel: str, old: Value, new: Value) -> Named:
    """Return the code of two entries of a channel, and where in them they differ."""
    return _BY_CHANNEL.get(channel, _other)(old, new, channel)


def _typed(code: str, path: str, old: Json, new: Json) -> Named:
    """Return the code, or TYPE if the values are equal but for their types."""
    return ("TYPE" if old == new else code), path, old, new


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
