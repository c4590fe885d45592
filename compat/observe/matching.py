"""A trace in the notation of the rows, and whether it is what a row expects.

Its entries and the events of the consumer; patterns, parts, and free orders.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.messages import Message
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import parse_message, show_message
from refengine.testing.recorder import KEPT, RECORDED
from refengine.testing.trace import Observation, Trace

Entry: TypeAlias = "dict[str, Any]"
Event: TypeAlias = "dict[str, Any] | str"
END: Final = "END"
CANCELLED: Final = MappingProxyType({"point": "cancel"})
"""The error of a cancelled run. Ours raises CancelledError instead: contract ERR."""
NOT_COMPARED: Final = frozenset(
    ("tools_option", "tools_bound", "text", "panic", "note")
)
"""Facts about a build, and its own words: a row tells them, nobody compares them."""


def entries_of(trace: Trace) -> list[Entry]:
    """Return the hooks, wrappers, tools and model calls, in order."""
    results, refused = _Results(trace), _not_resumed(trace)
    entries: list[Entry] = []
    for each in trace:
        if each.kind == "model_request":
            entries.append(_model_call(each.data))
        elif each.kind == "tool_start":
            entries.append(_tool_run(each, results))
        elif each.kind == "effect" and each.data["name"] == RECORDED:
            entries.append(dict(_mapping(each.data["data"])))
        elif each.kind == "run_start" and each.run > 1:
            entries.append({"run": each.run})
        elif each.kind == "event" and each.run in refused:
            text = _mapping(each.data["error"])["text"]
            entries.append({"at": "caller", "resume_error": text})
    return entries


def events_of(trace: Trace) -> list[Event]:
    """Return what the consumer received, ``END`` after each run that there was."""
    events: list[Event] = []
    refused = _not_resumed(trace)
    for each in trace.of("run_start", "event", "run_end"):
        if each.run in refused and each.kind != "run_start":
            continue
        if each.kind == "event":
            events.append(_event(each.data))
        elif each.kind == "run_end":
            if each.data["status"] == "cancelled":
                events.append({"error": CANCELLED})
            events.append(END)
        elif each.run > 1:
            events.append({"run": each.run})
    return events


def _not_resumed(trace: Trace) -> frozenset[int]:
    """Return the runs that could not go on from a checkpoint: there is no event then.

    Our engine tells it as the last event, as it does every error of a run.
    """
    resumes = {e.run for e in trace.of("run_start") if "resume" in e.data}
    ends: dict[int, list[str]] = {run: [] for run in resumes}
    for each in trace.of("event"):
        if each.run in resumes:
            error = each.data.get("error")
            point = str(error["point"]) if is_mapping(error) else ""
            ends[each.run].append(point)
    return frozenset(run for run, points in ends.items() if points == ["checkpoint"])


class _Results:
    """What each execution of a tool returned, by call id and in order."""

    def __init__(self, trace: Trace) -> None:
        self._left: dict[tuple[int, str | None], list[str]] = defaultdict(list)
        for each in trace.of("tool_end", "tool_error"):
            result = each.data.get("result")
            self._left[each.run, each.call_id].append(
                result if isinstance(result, str) else ""
            )

    def take(self, start: Observation) -> str | None:
        """Return the result of the execution that started here."""
        left = self._left[start.run, start.call_id]
        return left.pop(0) if left else None


def _model_call(data: Mapping[str, Any]) -> Entry:
    return {
        "model_call": data["n"],
        "in": [show_message(message) for message in data["messages"]],
        "tools": [info.name for info in data["tools"]],
        "ctx": data["ctx"],
    }


def _tool_run(start: Observation, results: _Results) -> Entry:
    data = start.data
    entry: Entry = {
        "tool_run": data["name"],
        "mode": data["mode"],
        "args": data["arguments"],
        "call": start.call_id,
        "options": data["options"],
        "ctx": data["ctx"],
    }
    result = results.take(start)
    return entry if result is None else {**entry, "result": result}


def _event(data: Mapping[str, Any]) -> Event:
    seen: Entry = {"agent": data["agent"]}
    if "error" in data:
        return {**seen, "error": data["error"]}
    if data["kind"] == "interrupt":
        return {**seen, "interrupted": True}
    if "stream" in data:
        return {**seen, "stream": list(data["stream"]), "stream_end": _end_of(data)}
    message = data["message"]
    text = show_message(message) if isinstance(message, Message) else message
    return {**seen, "msg": text}


def _end_of(data: Mapping[str, Any]) -> str:
    if "stream_error" not in data:
        return "eof"
    return "will_retry" if "will_retry" in data else f"error:{data['stream_error']}"


def _mapping(value: object) -> Mapping[str, Any]:
    if not is_mapping(value):
        raise TypeError(value)
    return value


def kept_of(trace: Trace) -> dict[str, str]:
    """Return the answers that the caller kept, by their key; later runs win."""
    kept: dict[str, str] = {}
    for each in trace.of("effect"):
        if each.data["name"] == KEPT:
            kept.update(_mapping(each.data["data"]))
    return kept


def joined(chunks: Sequence[str]) -> str:
    """Join the chunks of a streamed message, each written as a message of its own."""
    parts = [parse_message(chunk) for chunk in chunks]
    if not parts:
        return ""
    content = "".join(part.content for part in parts)
    calls = tuple(call for part in parts for call in part.tool_calls)
    return show_message(replace(parts[0], content=content, tool_calls=calls))


def matches(expected: object, seen: object) -> bool:
    """Tell whether ``seen`` has all that is expected.

    Of an object only the keys that are expected count; ``*`` stands for any text.
    """
    if expected == "*":
        return True
    if is_mapping(expected):
        return is_mapping(seen) and all(
            _key_matches(key, value, seen) for key, value in expected.items()
        )
    if is_list(expected):
        return (
            is_list(seen)
            and len(expected) == len(seen)
            and all(matches(e, s) for e, s in zip(expected, seen, strict=True))
        )
    if isinstance(expected, str) and isinstance(seen, str):
        return text_matches(expected, seen)
    return type(expected) is type(seen) and expected == seen


def text_matches(pattern: str, text: str) -> bool:
    """Match a text, ``*`` standing for any other, also an empty one."""
    if "*" not in pattern:
        return pattern == text
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None


def _key_matches(key: str, value: object, seen: Mapping[str, Any]) -> bool:
    if key in NOT_COMPARED:
        return True
    if key == "message_count_at_least":
        return isinstance(value, int) and int(seen.get("message_count", -1)) >= value
    if key == "error" and is_mapping(value):
        return error_matches(value, seen.get("error"))
    if key == "options" and not value:
        return not seen.get("options")
    if value is None:  # null says: not there, or empty
        return seen.get(key) in (None, [], {}, "")
    return key in seen and matches(value, seen[key])


def error_matches(expected: Mapping[str, Any], seen: object) -> bool:
    """Compare errors by point; whose it is only where both sides can tell."""
    if not is_mapping(seen) or expected.get("point") != seen.get("point"):
        return False
    for key in ("of", "call"):
        if key in expected and key in seen and expected[key] != seen[key]:
            return False
    text = str(seen.get("text", ""))
    contained = expected.get("text_contains")
    if contained is not None:
        parts = contained if is_list(contained) else [contained]
        if not all(str(each) in text for each in parts):
            return False
    names = [expected[key] for key in ("is", "last") if key in expected]
    return all(name == seen.get("is", text) for name in names)


def event_matches(expected: Event, seen: Event, *, joins: bool = False) -> bool:
    """Compare an event; with ``joins`` a message also matches a stream of it."""
    if isinstance(expected, str) or isinstance(seen, str):
        return expected == seen
    rest = dict(expected)
    streamed = rest.pop("streamed", None)
    if "msg" in rest and "stream" in seen and (streamed or joins):
        seen = {**seen, "msg": joined(seen["stream"])}
    elif streamed or ("msg" in rest and "stream" in seen):
        return False
    return matches(rest, seen)


def is_message(event: Event) -> bool:
    """Tell whether an event brings a message, whole or in chunks."""
    return isinstance(event, dict) and ("msg" in event or "stream" in event)


def role_of(event: Event) -> str:
    """Return the role of a message event."""
    if not isinstance(event, dict):
        return ""
    text = event.get("msg") or next(iter(event.get("stream", ())), "assistant:")
    return re.split(r"[:(]", str(text), maxsplit=1)[0]


def subsequence(
    expected: Sequence[Any], seen: Sequence[Any], same: Callable[[Any, Any], bool]
) -> Any | None:  # noqa: ANN401  # an element of expected
    """Return the first expected element that does not follow in order, or None."""
    at = 0
    for each in expected:
        while at < len(seen) and not same(each, seen[at]):
            at += 1
        if at == len(seen):
            return each
        at += 1
    return None


def unmatched(
    expected: Sequence[Any], seen: Sequence[Any], same: Callable[[Any, Any], bool]
) -> Any | None:  # noqa: ANN401  # an element of expected
    """Return an expected element without a partner of its own, or None.

    Entries name only some of their keys, so one that matches several must not take the
    only partner of another: augmenting paths, not first come first served.
    """
    partner: dict[int, int] = {}

    def assign(number: int, tried: set[int]) -> bool:
        for at, entry in enumerate(seen):
            if at in tried or not same(expected[number], entry):
                continue
            tried.add(at)
            if at not in partner or assign(partner[at], tried):
                partner[at] = number
                return True
        return False

    for number in range(len(expected)):
        if not assign(number, set()):
            return expected[number]
    return None


def is_tool_entry(entry: Entry) -> bool:
    """Tell whether an entry belongs to one call and may interleave with others."""
    at = str(entry.get("at", ""))
    of_call = {"tool_wrapper", "tool_middleware", "tool_body"}
    wraps = {"wrap_invokable", "wrap_streamable"}
    return "tool_run" in entry or at in of_call or at in wraps


def is_tool_event(event: Event) -> bool:
    """Tell whether an event brings a tool's result."""
    return event != END and is_message(event) and role_of(event) == "tool"
