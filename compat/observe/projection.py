"""A trace in the notation of the rows: its entries, and the events of the consumer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.messages import Message
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import parse_message, show_message
from refengine.testing.recorder import KEPT, RECORDED
from refengine.testing.trace import Observation, Trace

Entry: TypeAlias = "dict[str, Any]"
Event: TypeAlias = "dict[str, Any] | str"
END: Final = "END"
CANCELLED: Final = MappingProxyType({"point": "cancel"})
"""The error of a cancelled run. Ours raises CancelledError instead: contract ERR."""


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
