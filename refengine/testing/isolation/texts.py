"""What is the same in every session of a text that somebody may read later.

Log lines and files carry the time, ids and addresses of objects, which are other ones
in each run: a subject that differs from itself only there would not be comparable. Only
a time of today is one of now; others are data.
"""

from __future__ import annotations

import re
import time
from typing import Final

DAY: Final = 86_400
VOLATILE: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?P<clock>\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)"
    r"|(?P<seconds>\b1\d{9}(?:\.\d+)?\b)"
    r"|(?P<millis>\b1\d{12}(?:\.\d+)?\b)"
    r"|(?P<uuid>\b[\da-f]{8}-?[\da-f]{4}-?4[\da-f]{3}-?[89ab][\da-f]{3}-?[\da-f]{12}\b)"
    r"|(?P<address>\b0x[\da-f]{6,}\b)"
)
TOOK: Final = re.compile(
    r"((?:duration|elapsed|latency|took)\w*[\"']?\s*[:=]?\s*)"
    r"\d+(?:\.\d+)?(?:e-\d+)?"
    r"|()(?<![\w.])\d+\.\d{2,}(?= ?(?:s|secs?|seconds)\b)"
    r"|()(?<![\w.])\d+\.\d+(?= ?(?:ms|us|µs|milliseconds|microseconds)\b)",
    re.IGNORECASE,
)
"""How long something took, by measure: a pause that was chosen has few digits."""
NEAR: Final = 5
"""Seconds between a time of day and now, at most."""


def steady(text: str) -> str:
    """Return a text in which what is of this moment is named by its kind."""
    return TOOK.sub(_measured, VOLATILE.sub(_named, text))


def _measured(found: re.Match[str]) -> str:
    return f"{found[1] or ''}<duration>"


def _named(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    return f"<{kind}>" if _is_of_now(kind, found[kind]) else found[0]


def _is_of_now(kind: str, text: str) -> bool:
    now = time.time()
    if kind in {"seconds", "millis"}:
        return abs(float(text) / (1 if kind == "seconds" else 1000) - now) < DAY
    if kind == "date":
        days = (time.gmtime(now + day * DAY) for day in (-1, 0, 1))
        return text in {time.strftime("%Y-%m-%d", each) for each in days}
    if kind == "clock":
        hours, minutes, seconds = text.replace(",", ".").split(":")
        at = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        return any(_between(at, each) < NEAR for each in _times_of_day(now))
    return True


def _times_of_day(now: float) -> list[int]:
    both = time.gmtime(now), time.localtime(now)
    return [each.tm_hour * 3600 + each.tm_min * 60 + each.tm_sec for each in both]


def _between(one: float, other: float) -> float:
    """Return the seconds between two times of day, also around midnight."""
    apart = abs(one - other)
    return min(apart, DAY - apart)
