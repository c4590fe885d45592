"""The search for what is unnoticed: comparisons are met at their edges."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from compat.migration.check import check, vocabulary
from compat.migration.judge import Terms
from compat.migration.refs import SubjectRef, parse_ref
from compat.migration.search import FoundWorlds, SearchedSides, SearchPlan, search
from compat.migration.subject_runner import CheckOptions, SubjectRunner

PLAYS: Final = 400


def refs_of(folder: Path, old: str, new: str) -> tuple[SubjectRef, SubjectRef]:
    """Write two sources down, and return where their subjects are."""
    for name, text in (("old", old), ("new", new)):
        folder.joinpath(f"{name}.py").write_text(text, "utf-8")
    return (
        parse_ref(str(folder / "old.py")),
        parse_ref(str(folder / "new.py")),
    )


def searched(folder: Path, old: str, new: str, plays: int = PLAYS) -> FoundWorlds:
    """Return what a search finds that begins with no worlds but its own."""
    return searches(folder, old, new, plays)[0]


def searches(folder: Path, old: str, new: str, *plays: int) -> list[FoundWorlds]:
    """Return what searches find with the same sides, each in so many plays."""
    refs = refs_of(folder, old, new)
    how = CheckOptions(examples=1)
    said = vocabulary(refs, how)
    plan = SearchPlan(
        said.words, said.graphs, lambda one, other: one.jsonl != other.jsonl
    )
    with (
        closing(SubjectRunner(refs[0], "old", how, compares=True)) as one,
        closing(SubjectRunner(refs[1], "new", how, compares=True)) as other,
    ):
        sides = SearchedSides(one, other)
        return [search(sides, (), replace(plan, plays=most)) for most in plays]


LONG: Final = """
from refengine import AgentMiddleware

def subject(world):
    def watch(ctx, state):
        length = sum(len(each.content) for each in state.messages)
        if length > 90_000:
            world.effect("long", {})

    return [AgentMiddleware(before_chat_model=watch)]
"""
COUNTED: Final = """
from refengine import AgentMiddleware

MOST = 12

def subject(world):
    def watch(ctx, state):
        calls = sum(len(each.tool_calls) for each in state.messages)
        if calls >= MOST:
            world.effect("many", {"calls": calls})

    return [AgentMiddleware(before_chat_model=watch)]
"""
FORGETS: Final = """
from refengine import AgentMiddleware

MOST = 4_000

def subject(world):
    def forget(ctx, state):
        kept = list(state.messages)
        while len(kept) > 2 and sum(len(each.content) for each in kept) > MOST:
            del kept[1]
            while len(kept) > 2 and kept[1].role == "tool":
                del kept[1]
        state.messages = kept

    return [AgentMiddleware(before_chat_model=forget)]
"""


@pytest.mark.parametrize(
    ("old", "was", "becomes"),
    [
        (FORGETS, '"tool"', '"none"'),
        (FORGETS, "    while len(kept) > 2 and kept", "    if len(kept) > 2 and kept"),
        (LONG, "length > 90_000", "length >= 90_000"),
        (LONG, "90_000", "91_000"),
        (LONG, "len(each.content)", "len(each.content.split())"),
        (COUNTED, "calls >= MOST", "calls > MOST"),
    ],
)
def test_edge_of_a_comparison_is_met(
    tmp_path: Path, old: str, was: str, becomes: str
) -> None:
    """What a wrong port changed shows at the edge of a comparison."""
    found = searched(tmp_path, old, old.replace(was, becomes))

    assert found.differing
    assert found.plays <= PLAYS


SAYS: Final = """
from refengine import AgentMiddleware

def subject(world):
    return [AgentMiddleware(additional_instruction="Be brief.")]
"""


LOOKS_INTO_LONG: Final = """
from dataclasses import replace
from refengine import AgentMiddleware

def subject(world):
    def shorten(ctx, state):
        state.messages = [short(each) for each in state.messages]

    return [AgentMiddleware(additional_instruction="Go", before_chat_model=shorten)]

def short(one):
    text = one.content
    due = "invoice" in text.lower() and "paid" not in text.lower()
    if one.role == "user" and len(text) > 4000 and due:
        return replace(one, content=one.content[:4000])
    return one
"""


def test_a_word_is_looked_for_in_texts_that_are_long_enough(tmp_path: Path) -> None:
    refs = refs_of(tmp_path, LOOKS_INTO_LONG, LOOKS_INTO_LONG.replace(":4000", ":"))
    how = CheckOptions(examples=20, search_plays=PLAYS)

    assert not check(*refs, Terms(), how).verdict.sufficient


def test_a_branch_in_which_old_breaks_is_told_with_what_broke(tmp_path: Path) -> None:
    breaks = LOOKS_INTO_LONG.replace("replace(one, ", "one.shortened(")
    refs = refs_of(tmp_path, breaks, LOOKS_INTO_LONG)
    how = CheckOptions(examples=1, search_plays=PLAYS)

    verdict = check(*refs, Terms(), how).verdict

    assert "no attribute 'shortened'" in "".join(verdict.failures["old"])
    assert verdict.outside


def test_search_ends_where_dice_show_nothing_new(tmp_path: Path) -> None:
    found = searched(tmp_path, SAYS, SAYS, 1_000)

    assert not found.worlds
    assert found.plays < 400


def test_search_plays_nothing_that_an_earlier_one_played(tmp_path: Path) -> None:
    first, second = searches(tmp_path, COUNTED, COUNTED, 60, 60)
    at_once = searched(tmp_path, COUNTED, COUNTED, 120)

    assert (first.plays, second.plays) == (60, 60)
    assert second.worlds == at_once.worlds


def test_search_ends_with_its_plays(tmp_path: Path) -> None:
    """Sides that do the same are played so often and no oftener."""
    found = searched(tmp_path, LONG, LONG)

    assert not found.differing
    assert found.worlds
    assert found.plays == PLAYS


def test_what_a_search_found_is_judged(tmp_path: Path) -> None:
    """A world that a search found is one that the verdict rests on."""
    refs = refs_of(tmp_path, LONG, LONG.replace("length >", "length >="))
    how = CheckOptions(examples=1, search_plays=PLAYS)

    verdict = check(*refs, Terms(), how).verdict

    assert not verdict.sufficient
    assert verdict.families["searched"] >= 1


TWO: Final = """
from refengine import AgentMiddleware

def subject(world):
    def watch(ctx, state):
        users = [each for each in state.messages if each.role == "user"]
        words = len(users[-1].content.split()) if users else 0
        if words < 3 and len(users) >= 4:
            world.effect("short", {"words": words})

    return [AgentMiddleware(before_chat_model=watch)]
"""
DOCUMENTS: Final = """
import json
from refengine import AgentMiddleware

LEAST = 0.72

def subject(world):
    def watch(ctx, state):
        for each in state.messages:
            if each.role == "tool" and each.content.startswith("["):
                found = json.loads(each.content)
                good = [one["title"] for one in found if one["score"] >= LEAST]
                world.effect("good", {"titles": good[:3]})

    return [AgentMiddleware(before_chat_model=watch)]
"""


@pytest.mark.parametrize(
    ("old", "was", "becomes"),
    [
        (TWO, "words < 3", "words <= 3"),
        (DOCUMENTS, "good[:3]", "good[:4]"),
        (DOCUMENTS, ">= LEAST", "> LEAST"),
    ],
)
def test_what_has_to_come_together_is_met(
    tmp_path: Path, old: str, was: str, becomes: str
) -> None:
    """Two conditions at once, and the documents of a tool, are steered to as well."""
    assert searched(tmp_path, old, old.replace(was, becomes)).differing
