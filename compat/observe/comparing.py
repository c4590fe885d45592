"""One group of a row against one trace: everything it names is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from compat.observe.matching import (
    error_matches,
    event_matches,
    is_message,
    is_tool_entry,
    is_tool_event,
    matches,
    role_of,
    subsequence,
    text_matches,
    unmatched,
)
from compat.observe.projection import (
    END,
    Entry,
    Event,
    entries_of,
    events_of,
    kept_of,
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
    for key, wanted in group.expected.items():
        value = wanted if with_ctx else _without_ctx(wanted)
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


def _trace(seen: ObservedTrace, wanted: list[Entry], free: bool) -> str | None:
    return _whole(wanted, seen.entries, matches, is_tool_entry if free else None)


def _trace_only(seen: ObservedTrace, wanted: list[Entry], free: bool) -> str | None:
    kinds = {_kind(entry) for entry in wanted}
    entries = [entry for entry in seen.entries if _kind(entry) in kinds]
    return _whole(wanted, entries, matches, is_tool_entry if free else None)


def _trace_has(seen: ObservedTrace, wanted: list[Entry], free: bool) -> str | None:
    find = unmatched if free else subsequence
    missing = find(wanted, seen.entries, matches)
    return None if missing is None else f"no {missing} where it is expected"


def _trace_lacks(seen: ObservedTrace, wanted: list[Entry], _: bool) -> str | None:
    for pattern in wanted:
        found = next((e for e in seen.entries if matches(pattern, e)), None)
        if found is not None:
            return f"there is {found}"
    return None


def _trace_counts(seen: ObservedTrace, wanted: list[Entry], _: bool) -> str | None:
    for each in wanted:
        count = sum(matches(each["match"], entry) for entry in seen.entries)
        if count != each["count"]:
            return f"{each['match']} {count} times, not {each['count']}"
    return None


def _events(seen: ObservedTrace, wanted: list[Event], free: bool) -> str | None:
    return _whole(wanted, seen.events, event_matches, is_tool_event if free else None)


def _events_has(seen: ObservedTrace, wanted: list[Event], free: bool) -> str | None:
    find = unmatched if free else subsequence
    missing = find(wanted, seen.events, _joining)
    return None if missing is None else f"no {missing} where it is expected"


def _last_event(seen: ObservedTrace, wanted: Event, _: bool) -> str | None:
    events = [event for event in seen.events if wanted == END or event != END]
    last = events[-1] if events else None
    if last is not None and _joining(wanted, last):
        return None
    return f"{last}, not {wanted}"


def _event_count(seen: ObservedTrace, wanted: int, _: bool) -> str | None:
    count = _count_events(seen)
    return None if count == wanted else f"{count}, not {wanted}"


def _event_count_at_least(seen: ObservedTrace, wanted: int, _: bool) -> str | None:
    count = _count_events(seen)
    return None if count >= wanted else f"{count}, fewer than {wanted}"


def _count_events(seen: ObservedTrace) -> int:
    return sum(isinstance(e, dict) and "run" not in e for e in seen.events)


def _event_roles(seen: ObservedTrace, wanted: list[str], _: bool) -> str | None:
    roles = [role_of(event) for event in seen.events if is_message(event)]
    return None if roles == wanted else f"{roles}, not {wanted}"


def _event_role_counts(
    seen: ObservedTrace,
    wanted: Mapping[str, int],
    _: bool,
) -> str | None:
    counts = Counter(role_of(event) for event in seen.events if is_message(event))
    for role, count in wanted.items():
        if counts[role] != count:
            return f"{counts[role]} of {role}, not {count}"
    return None


def _errors(
    seen: ObservedTrace, wanted: list[Mapping[str, Any]], _: bool
) -> str | None:
    errors = [e["error"] for e in seen.events if isinstance(e, dict) and "error" in e]
    fits = len(errors) == len(wanted) and all(map(error_matches, wanted, errors))
    return None if fits else f"{errors}, not {wanted}"


def _build_error(seen: ObservedTrace, wanted: bool, _: bool) -> str | None:
    return None if seen.build_error == wanted else f"{seen.build_error}, not {wanted}"


def _model_call_count(seen: ObservedTrace, wanted: int, _: bool) -> str | None:
    count = len(seen.model_calls)
    return None if count == wanted else f"{count}, not {wanted}"


def _model_calls(seen: ObservedTrace, wanted: list[Entry], _: bool) -> str | None:
    for facts in wanted:
        call = next(
            (c for c in seen.model_calls if c["model_call"] == facts["call"]), None
        )
        if call is None:
            return f"there is no call {facts['call']}"
        for key, value in facts.items():
            if not _fact_holds(key, value, call):
                return f"call {facts['call']} {key}: {_about(key, call)}, not {value}"
    return None


def _fact_holds(key: str, wanted: Fact, call: Entry) -> bool:
    given, tools = call["in"], call["tools"]
    if key == "call":
        return True
    if key == "in_count":
        return bool(len(given) == wanted)
    if key == "in_at":
        return all(
            -len(given) <= int(at) < len(given) and matches(text, given[int(at)])
            for at, text in wanted.items()
        )
    if key == "tools_has":
        return set(wanted) <= set(tools)
    if key == "tools_lacks":
        return set(wanted).isdisjoint(tools)
    return bool(key in {"in", "tools"} and matches(wanted, call[key]))


def _about(key: str, call: Entry) -> object:
    return call["tools"] if key.startswith("tools") else call["in"]


def _session_values(
    seen: ObservedTrace, wanted: Mapping[str, str], _: bool
) -> str | None:
    return None if matches(wanted, seen.kept) else f"{seen.kept}, not {wanted}"


def _system_message(seen: ObservedTrace, wanted: str | None, _: bool) -> str | None:
    content = _system(seen)
    if content is None or wanted is None:
        fits = content is wanted
    else:
        fits = text_matches(wanted, content)
    return None if fits else f"{content!r}, not {wanted!r}"


def _system_message_contains(
    seen: ObservedTrace,
    wanted: str | list[str],
    _: bool,
) -> str | None:
    content = _system(seen) or ""
    for text in [wanted] if isinstance(wanted, str) else wanted:
        if text not in content:
            return f"{text!r} is not in {content!r}"
    return None


def _system(seen: ObservedTrace) -> str | None:
    calls = seen.model_calls
    first: list[str] = calls[0]["in"][:1] if calls else []
    head, _, content = "".join(first).partition(":")
    return content if head == "system" else None


_CHECKS: Mapping[str, Check] = {
    "trace": _trace,
    "trace_only": _trace_only,
    "trace_has": _trace_has,
    "trace_lacks": _trace_lacks,
    "trace_counts": _trace_counts,
    "events": _events,
    "events_has": _events_has,
    "last_event": _last_event,
    "event_count": _event_count,
    "event_count_at_least": _event_count_at_least,
    "event_roles": _event_roles,
    "event_role_counts": _event_role_counts,
    "errors": _errors,
    "build_error": _build_error,
    "model_call_count": _model_call_count,
    "model_calls": _model_calls,
    "session_values": _session_values,
    "system_message": _system_message,
    "system_message_contains": _system_message_contains,
}


def _joining(wanted: Event, seen: Event) -> bool:
    return event_matches(wanted, seen, joins=True)


def _kind(entry: Entry) -> str:
    known = (key for key in ("model_call", "tool_run", "run") if key in entry)
    return str(entry.get("at") or next(known, entry))


def _whole(
    wanted: Sequence[Any], seen: Sequence[Any], same: Same, loose: Same1 | None
) -> str | None:
    """Compare two whole lists; runs of ``loose`` elements in any order."""
    if loose is None:
        return _in_order(wanted, seen, same, 0)
    at = 0
    ours, theirs = list(_blocks(seen, loose)), list(_blocks(wanted, loose))
    for (is_loose, expected), (_, got) in zip(theirs, ours, strict=False):
        if not is_loose:
            found = _in_order(expected, got, same, at)
        else:
            found = _any_order(expected, got, same, ends=_ends(theirs, expected))
        if found is not None:
            return found
        at += len(expected)
    return _in_order(wanted, seen, lambda _, __: True, 0)


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
    wanted: Sequence[Any], seen: Sequence[Any], same: Same, offset: int
) -> str | None:
    for at, expected in enumerate(wanted):
        if at >= len(seen):
            return f"[{offset + at}] is missing: {expected}"
        if not same(expected, seen[at]):
            return f"[{offset + at}] is {seen[at]}, not {expected}"
    if len(seen) > len(wanted):
        return f"[{offset + len(wanted)}] is one too many: {seen[len(wanted)]}"
    return None


def _any_order(
    wanted: Sequence[Any], seen: Sequence[Any], same: Same, *, ends: bool
) -> str | None:
    if len(wanted) != len(seen):
        return f"{len(seen)} entries of concurrent calls, not {len(wanted)}: {seen}"
    missing = unmatched(wanted, seen, same)
    if missing is not None:
        return f"no {missing} among {seen}"
    if ends and not same(wanted[-1], seen[-1]):
        return f"{seen[-1]} is last, not {wanted[-1]}"
    return None
