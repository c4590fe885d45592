"""Whether something seen is what a row expects: patterns, parts, and free orders."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from compat.observe.projection import END, Entry, Event, joined
from refengine.testing.json_values import is_list, is_mapping

NOT_COMPARED: Final = frozenset(
    ("tools_option", "tools_bound", "text", "panic", "note")
)
"""Facts about a build, and its own words: a row tells them, nobody compares them."""


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
