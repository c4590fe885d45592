"""What a tool gave is kept for a time and in so many places: worlds tell which."""

from pathlib import Path

import pytest

from refengine.testing.subject_worlds.words import Words
from refengine.testing.subject_worlds.worlds import later, remembered
from tests.judging_support import judged_in, of_family

CACHE = """
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

SLOW = ("look_up",)
SIZE = 3
TTL = 60.0

def subject(world):
    kept = {}
    def invokable(inner):
        async def call(ctx, input):
            if input.name not in SLOW:
                return await inner(ctx, input)
            key = input.arguments
            if key in kept and world.now() - kept[key][0] < TTL:
                USED
                return ToolCallResult(kept[key][1])
            kept.pop(key, None)
            output = await inner(ctx, input)
            kept[key] = (world.now(), output.result)
            if len(kept) > SIZE:
                kept.pop(next(iter(kept)))
            return output
        return call
    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=invokable))]
"""
OLD = CACHE.replace("USED", "kept[key] = kept.pop(key)")
EVERY_TOOL = CACHE.replace("not in SLOW", "in ()").replace(
    "= input.arg", "= input.name, input.arg"
)


@pytest.mark.parametrize(
    ("was", "now", "holds"),
    [
        ("kept[key] = kept.pop(key)", "kept.update({key: kept.pop(key)})", True),
        ("kept[key] = kept.pop(key)", "pass", False),  # the first that came in goes
        ("SIZE = 3", "SIZE = 4", False),
        ("TTL = 60.0", "TTL = 61.0", False),
        ("- kept[key][0] < TTL", "- kept[key][0] <= TTL", False),
        ("kept[key] = kept.pop(key)", "kept[key] = (world.now(), kept[key][1])", False),
    ],
)
def test_what_a_cache_forgets_is_told(
    was: str, now: str, holds: bool, tmp_path: Path
) -> None:
    new = OLD.replace(was, now)
    found = judged_in(of_family("long runs"), tmp_path, OLD, new)

    assert found.fault is None
    assert found.sufficient == holds


def test_what_is_used_often_is_kept_no_longer_where_all_tools_are_kept(
    tmp_path: Path,
) -> None:
    old, new = (
        EVERY_TOOL.replace("USED", used)
        for used in ("pass", "kept[key] = (world.now(), kept[key][1])")
    )

    found = judged_in(of_family("long runs"), tmp_path, old, new)

    assert found.fault is None
    assert not found.sufficient


A_DAY = """
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

MOST, DAY = 3, 86400

def subject(world):
    used, begun = [0], [None]
    def invokable(inner):
        async def look_up(ctx, input):
            now = world.now()
            if NEXT:
                begun[0], used[0] = BEGINS, 0
            if used[0] >= MOST:
                return ToolCallResult("come back tomorrow")
            used[0] += 1
            return await inner(ctx, input)
        return look_up
    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=invokable))]
TOOL = "look_up"
"""
CALENDAR = A_DAY.replace("NEXT", "begun[0] != now // DAY").replace(
    "BEGINS", "now // DAY"
)
ROLLING = A_DAY.replace("NEXT", "begun[0] is None or now - begun[0] >= DAY").replace(
    "BEGINS", "now"
)


def test_days_of_the_calendar_are_not_those_from_the_first_call_on(
    tmp_path: Path,
) -> None:
    found = judged_in(of_family("long runs"), tmp_path, CALENDAR, ROLLING)

    assert found.fault is None
    assert not found.sufficient


def test_who_names_no_tool_or_asks_no_time_is_played_no_worlds_of_it() -> None:
    named = Words(names=("look",), numbers=(60, 3), times=True)

    assert [*remembered(named)]
    assert [*later(named)]
    assert not [*remembered(Words(numbers=(3,)))]
    assert not [*later(Words(numbers=(3,), times=True))]
    assert not [*later(Words(names=("look",), numbers=(3,)))]
