"""One group of a row against one trace: everything it names is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from compat.observe.matching import (
    END,
    Entry,
    Event,
    entries_of,
    error_matches,
    event_matches,
    events_of,
    is_message,
    is_tool_entry,
    is_tool_event,
    kept_of,
    matches,
    role_of,
    subsequence,
    text_matches,
    unmatched,
)
from compat.observe.rows import Group
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.trace import Trace

Fact: TypeAlias = Any  # what its key says: a number, names, messages
Same: TypeAlias = Callable[[Any, Any], bool]
Check: TypeAlias = "Callable[[ObservedTrace, Any, bool], str | None]"


class ObservedTrace:
    """What one trace shows, in the notation of the rows."""

    def __init__(self, trace: Trace, *, with_ctx: bool) -> None:
        self.entries: list[Entry] = entries_of(trace)
        if not with_ctx:
            for entry in self.entries:
                entry.pop("ctx", None)
        self.events: list[Event] = events_of(trace)
        self.kept = kept_of(trace)
        self.build_error = len(trace.of("build_error")) > 0

    @property
    def model_calls(self) -> list[Entry]:
        """The entries of model calls."""
        return [entry for entry in self.entries if "model_call" in entry]


def first_difference(group: Group, trace: Trace, *, with_ctx: bool) -> str | None:
    """Return the first thing the group names that is otherwise, or None."""
    seen = ObservedTrace(trace, with_ctx=with_ctx)
    if seen.build_error and not group.expected.get("build_error"):
        return "build_error: the agent could not be built"
    for key, expected in group.expected.items():
        value = expected if with_ctx else _without_ctx(expected)
        if key in _VALUES:
            seen_value = _VALUES[key](seen)
            found = None if seen_value == value else f"{seen_value}, not {value}"
        else:
            found = _CHECKS[key](seen, value, group.free)
        if found is not None:
            return f"{key}: {found}"
    return None


def _without_ctx(value: object) -> object:
    """Drop context values; they count only where a scenario sets one."""
    if is_mapping(value):
        return {k: _without_ctx(v) for k, v in value.items() if k != "ctx"}
    if is_list(value):
        return [_without_ctx(each) for each in value]
    return value


def _trace(seen: ObservedTrace, expected: list[Entry], free: bool) -> str | None:
    return _whole(expected, seen.entries, matches, is_tool_entry if free else None)


def _trace_only(seen: ObservedTrace, expected: list[Entry], free: bool) -> str | None:
    kinds = {_kind(entry) for entry in expected}
    entries = [entry for entry in seen.entries if _kind(entry) in kinds]
    return _whole(expected, entries, matches, is_tool_entry if free else None)


def _trace_has(seen: ObservedTrace, expected: list[Entry], free: bool) -> str | None:
    find = unmatched if free else subsequence
    missing = find(expected, seen.entries, matches)
    return None if missing is None else f"{missing} is missing where it is expected"


def _trace_lacks(seen: ObservedTrace, expected: list[Entry], _: bool) -> str | None:
    for pattern in expected:
        found = next((e for e in seen.entries if matches(pattern, e)), None)
        if found is not None:
            return f"there is {found}"
    return None


def _trace_counts(seen: ObservedTrace, expected: list[Entry], _: bool) -> str | None:
    for each in expected:
        count = sum(matches(each["match"], entry) for entry in seen.entries)
        if count != each["count"]:
            return f"{each['match']} {count} times, not {each['count']}"
    return None


def _events(seen: ObservedTrace, expected: list[Event], free: bool) -> str | None:
    return _whole(expected, seen.events, event_matches, is_tool_event if free else None)


def _events_has(seen: ObservedTrace, expected: list[Event], free: bool) -> str | None:
    find = unmatched if free else subsequence
    missing = find(expected, seen.events, _joining)
    return None if missing is None else f"{missing} is missing where it is expected"


def _last_event(seen: ObservedTrace, expected: Event, _: bool) -> str | None:
    events = [event for event in seen.events if expected == END or event != END]
    last = events[-1] if events else None
    if last is not None and _joining(expected, last):
        return None
    return f"{last}, not {expected}"


def _event_count_at_least(seen: ObservedTrace, expected: int, _: bool) -> str | None:
    count = _count_events(seen)
    return None if count >= expected else f"{count}, fewer than {expected}"


def _count_events(seen: ObservedTrace) -> int:
    return sum(isinstance(e, dict) and "run" not in e for e in seen.events)


def _event_role_counts(
    seen: ObservedTrace,
    expected: Mapping[str, int],
    _: bool,
) -> str | None:
    counts = Counter(role_of(event) for event in seen.events if is_message(event))
    for role, count in expected.items():
        if counts[role] != count:
            return f"{counts[role]} of {role}, not {count}"
    return None


def _errors(
    seen: ObservedTrace, expected: list[Mapping[str, Any]], _: bool
) -> str | None:
    errors = [e["error"] for e in seen.events if isinstance(e, dict) and "error" in e]
    fits = len(errors) == len(expected) and all(map(error_matches, expected, errors))
    return None if fits else f"{errors}, not {expected}"


def _model_calls(seen: ObservedTrace, expected: list[Entry], _: bool) -> str | None:
    for facts in expected:
        call = next(
            (c for c in seen.model_calls if c["model_call"] == facts["call"]), None
        )
        if call is None:
            return f"there is no call {facts['call']}"
        for key, value in facts.items():
            if not _fact_holds(key, value, call):
                return f"call {facts['call']} {key}: {_about(key, call)}, not {value}"
    return None


def _fact_holds(key: str, expected: Fact, call: Entry) -> bool:
    given, tools = call["in"], call["tools"]
    if key == "call":
        return True
    if key == "in_count":
        return bool(len(given) == expected)
    if key == "in_at":
        return all(
            -len(given) <= int(at) < len(given) and matches(text, given[int(at)])
            for at, text in expected.items()
        )
    if key == "tools_has":
        return set(expected) <= set(tools)
    if key == "tools_lacks":
        return set(expected).isdisjoint(tools)
    return bool(key in {"in", "tools"} and matches(expected, call[key]))


def _about(key: str, call: Entry) -> object:
    return call["tools"] if key.startswith("tools") else call["in"]


def _session_values(
    seen: ObservedTrace, expected: Mapping[str, str], _: bool
) -> str | None:
    return None if matches(expected, seen.kept) else f"{seen.kept}, not {expected}"


def _system_message(seen: ObservedTrace, expected: str | None, _: bool) -> str | None:
    content = _system(seen)
    if content is None or expected is None:
        fits = content is expected
    else:
        fits = text_matches(expected, content)
    return None if fits else f"{content!r}, not {expected!r}"


def _system_message_contains(
    seen: ObservedTrace,
    expected: str | list[str],
    _: bool,
) -> str | None:
    content = _system(seen) or ""
    for text in [expected] if isinstance(expected, str) else expected:
        if text not in content:
            return f"{text!r} is not in {content!r}"
    return None


def _system(seen: ObservedTrace) -> str | None:
    calls = seen.model_calls
    first: list[str] = calls[0]["in"][:1] if calls else []
    head, _, content = "".join(first).partition(":")
    return content if head == "system" else None


_VALUES: Mapping[str, Callable[[ObservedTrace], object]] = {
    "event_count": _count_events,
    "event_roles": lambda seen: [role_of(e) for e in seen.events if is_message(e)],
    "build_error": lambda seen: seen.build_error,
    "model_call_count": lambda seen: len(seen.model_calls),
}
"""What is equal to what is expected, or not."""
_CHECKS: Mapping[str, Check] = {
    "trace": _trace,
    "trace_only": _trace_only,
    "trace_has": _trace_has,
    "trace_lacks": _trace_lacks,
    "trace_counts": _trace_counts,
    "events": _events,
    "events_has": _events_has,
    "last_event": _last_event,
    "event_count_at_least": _event_count_at_least,
    "event_role_counts": _event_role_counts,
    "errors": _errors,
    "model_calls": _model_calls,
    "session_values": _session_values,
    "system_message": _system_message,
    "system_message_contains": _system_message_contains,
}


def _joining(expected: Event, seen: Event) -> bool:
    return event_matches(expected, seen, joins=True)


def _kind(entry: Entry) -> str:
    known = (key for key in ("model_call", "tool_run", "run") if key in entry)
    return str(entry.get("at") or next(known, entry))


def _whole(
    expected: Sequence[Any], seen: Sequence[Any], same: Same, loose: Same1 | None
) -> str | None:
    """Compare two whole lists; runs of ``loose`` elements in any order."""
    if loose is None:
        return _in_order(expected, seen, same, 0)
    at = 0
    ours, theirs = list(_blocks(seen, loose)), list(_blocks(expected, loose))
    for (is_loose, block), (_, got) in zip(theirs, ours, strict=False):
        if not is_loose:
            found = _in_order(block, got, same, at)
        else:
            found = _any_order(block, got, same, ends=_ends(theirs, block))
        if found is not None:
            return found
        at += len(block)
    return _in_order(expected, seen, lambda _, __: True, 0)


Same1: TypeAlias = Callable[[Any], bool]


def _blocks(items: Sequence[Any], loose: Same1) -> Iterator[tuple[bool, list[Any]]]:
    for is_loose, block in groupby(items, loose):
        yield is_loose, list(block)


def _ends(blocks: Sequence[tuple[bool, list[Any]]], block: list[Any]) -> bool:
    """Tell whether the run ends right after this block: with a direct result."""
    for (_, this), (_, following) in pairwise(blocks):
        if this is block:
            return bool(following[0] == END)
    return False


def _in_order(
    expected: Sequence[Any], seen: Sequence[Any], same: Same, offset: int
) -> str | None:
    for at, each in enumerate(expected):
        if at >= len(seen):
            return f"[{offset + at}] is missing: {each}"
        if not same(each, seen[at]):
            return f"[{offset + at}] is {seen[at]}, not {each}"
    if len(seen) > len(expected):
        return f"[{offset + len(expected)}] is one too many: {seen[len(expected)]}"
    return None


def _any_order(
    expected: Sequence[Any], seen: Sequence[Any], same: Same, *, ends: bool
) -> str | None:
    if len(expected) != len(seen):
        return f"{len(seen)} entries of concurrent calls, not {len(expected)}: {seen}"
    missing = unmatched(expected, seen, same)
    if missing is not None:
        return f"no {missing} among {seen}"
    if ends and not same(expected[-1], seen[-1]):
        return f"{seen[-1]} is last, not {expected[-1]}"
    return None
