"""The merge algebra of tool sets, and the fold that the engine uses in its place."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refengine.plan import ToolFold
from refengine.tools import Tool, ToolInfo, ToolMeta, as_meta, merge, normalise
from tests.properties.support import searching

NAMES = ("t", "u", "v")
FLAGS = (None, False, True)


class Named:
    """A tool that is only a name; equal to itself alone."""

    def __init__(self, name: str) -> None:
        self.info = ToolInfo(name)

    async def invoke(self, *_: object) -> str:
        return ""

    def __repr__(self) -> str:
        return f"<{self.info.name} at {id(self) % 9973}>"


names = st.sampled_from(NAMES)
bare = st.builds(Named, names)
metas = st.builds(ToolMeta, bare, st.sampled_from(FLAGS))
lists = st.lists(metas, max_size=6)
sets = lists.map(normalise)


@searching(200)
@given(sets)
def test_merging_with_nothing_changes_nothing(tools: list[ToolMeta]) -> None:
    assert merge(tools, []) == tools
    assert merge([], tools) == tools


@searching(200)
@given(sets)
def test_merging_a_set_with_itself_changes_nothing(tools: list[ToolMeta]) -> None:
    assert merge(tools, tools) == tools


@searching(200)
@given(lists)
def test_a_normalised_set_is_normalised(tools: list[ToolMeta]) -> None:
    once = normalise(tools)

    assert normalise(once) == once
    assert len({meta.name for meta in once}) == len(once)


@searching(200)
@given(sets, sets, sets)
def test_merging_is_associative(
    a: list[ToolMeta], b: list[ToolMeta], c: list[ToolMeta]
) -> None:
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


@searching(200)
@given(lists)
def test_the_last_tool_and_the_last_set_flag_of_a_name_count(
    tools: list[ToolMeta],
) -> None:
    same = {name: [m for m in tools if m.name == name] for name in NAMES}
    flags = {
        name: [m.return_directly for m in found if m.return_directly is not None]
        for name, found in same.items()
    }
    wanted = {
        name: ToolMeta(found[-1].tool, flags[name][-1] if flags[name] else None)
        for name, found in same.items()
        if found
    }

    assert {meta.name: meta for meta in normalise(tools)} == wanted


@searching(200)
@given(lists)
def test_a_name_stands_where_it_stood_first(tools: list[ToolMeta]) -> None:
    order = list(dict.fromkeys(meta.name for meta in tools))

    assert [meta.name for meta in normalise(tools)] == order


@pytest.mark.parametrize(
    ("first", "then"), list(itertools.product(FLAGS, repeat=2)), ids=str
)
def test_an_unset_flag_writes_nothing(first: bool | None, then: bool | None) -> None:
    one, other = ToolMeta(Named("t"), first), ToolMeta(Named("t"), then)

    [left] = merge([one], [other])
    assert left == ToolMeta(other.tool, first if then is None else then)


@st.composite
def edited(draw: st.DrawFn, tools: Sequence[ToolMeta]) -> list[Tool | ToolMeta]:
    """Draw what a handler might leave of a set: edited anywhere, or another one."""
    left: list[Tool | ToolMeta] = list(tools)
    kind = draw(st.sampled_from(["append", "cut", "insert", "flag", "turn", "other"]))
    at = draw(st.integers(0, max(len(left) - 1, 0)))
    if kind == "append":
        left += draw(st.lists(bare | metas, max_size=3))
    elif kind == "insert":
        left.insert(at, draw(bare | metas))
    elif kind == "turn":
        left.reverse()
    elif kind == "other":
        left = draw(st.lists(bare | metas, max_size=4))
    elif left and kind == "cut":
        del left[at]
    elif left:
        left[at] = ToolMeta(tools[at].tool, draw(st.sampled_from(FLAGS)))
    return left


@searching(300)
@given(lists, st.booleans(), st.data())
def test_a_fold_over_any_edits_is_normalising_each_time(
    start: list[ToolMeta], one_entry: bool, data: st.DataObject
) -> None:
    settled = normalise if one_entry else list[ToolMeta]
    now = settled(start)
    fold = ToolFold(now, one_entry=one_entry)
    for _ in range(data.draw(st.integers(1, 5), "edits")):
        left = data.draw(edited(now), "left")
        before = {meta.name for meta in now}
        wanted = settled([as_meta(each) for each in left])
        if data.draw(st.booleans(), "in place"):
            given: list[Tool | ToolMeta] = now  # type: ignore[assignment]  # a handler may leave tools
            given[:] = left
            left = given
        now, gone = fold.update(left)

        assert now == wanted
        assert gone == sorted(before - {meta.name for meta in wanted})


@searching(50)
@given(lists)
def test_a_handler_that_keeps_the_old_list_changes_nothing(
    tools: list[ToolMeta],
) -> None:
    fold = ToolFold([], one_entry=True)
    kept, _ = fold.update(tools)
    wanted = list(kept)
    kept.append(ToolMeta(Named("late")))
    now, gone = fold.update(wanted)

    assert (now, gone) == (wanted, [])
