"""Points where two engines differ: whom they concern, and that they are played."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from compat.migration.check import check_all, code_of, corpus_of
from compat.migration.corpus import POINTS, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.points import pair_of, point_pairs, said_names
from compat.migration.points_played import point_worlds
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.migration import lines
from compat.verdicts.migration import Migration
from refengine.profile import profile
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.across import fits_across
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.words import Words
from tests.judging_support import judged_in

ROOT = Path(__file__).parent.parent
PAIR = point_pairs()[0]

TOOLS = """
from langchain_core.tools import tool

@tool(return_direct=True)
def lookup(order: str) -> str:
    "Look an order up."
    return "order " + order

@tool
def note(text: str) -> str:
    "Note a text."
    return "noted " + text
"""
OLD = """
from langgraph.prebuilt import create_react_agent
from tools import lookup, note

def subject(world):
    return create_react_agent(world.as_langchain().model, [lookup, note])
"""
NEW = """
from langchain.agents import create_agent
from tools import lookup, note

def subject(world):
    return create_agent(world.as_langchain().model, [lookup, note])
"""


def judged(folder: Path, old: str, new: str, *, leave_out: str = "") -> Migration:
    """Return the verdict in the worlds of points, or of all others a few instead."""
    (folder / "tools.py").write_text(TOOLS, "utf-8")

    def chosen(worlds: Sequence[MigrationWorld]) -> list[MigrationWorld]:
        shown = [each for each in worlds if each.family == POINTS]
        others = [each for each in worlds if each.family == "own tools"][:1]
        kept = [*others, *shown] if leave_out else shown
        return [each for each in kept if each.point != leave_out]

    return judged_in(chosen, folder, old, new, explain=True)


def test_a_port_of_direct_tools_diverges_at_its_point(tmp_path: Path) -> None:
    verdict = judged(tmp_path, OLD, NEW)
    report = "\n".join(map(str, lines(verdict)))

    assert code_of(verdict) == 1
    assert verdict.point is not None
    assert verdict.point.id == "direct-among-others"
    assert "(posture direct_calls)" in report
    assert (
        "points where langgraph-prebuilt-1 and langchain-1 differ: 1 played" in report
    )


def test_no_point_is_named_where_play_ended_before_the_other_worlds(
    tmp_path: Path,
) -> None:
    """Worlds of points are played first, so that all else is unknown then."""
    quiet = NEW.replace("[lookup, note])", "[lookup, note], system_prompt='Be brief.')")
    files = {"tools": TOOLS, "old": OLD, "new": NEW, "quiet": quiet}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    old, new, other = (
        parse_ref(f"{tmp_path}/{name}.py") for name in ("old", "new", "quiet")
    )
    how = CheckOptions(examples=1)
    corpus = corpus_of([old, new, other], how)
    first = [each for each in corpus.worlds if each.point is not None] * 2
    corpus = replace(corpus, worlds=(*first, *corpus.worlds))
    sides = {"new": (new, Terms()), "quiet": (other, Terms(shows="INSTRUCTION"))}

    verdict = check_all(old, sides, corpus, how, explain=False)["quiet"].verdict

    assert verdict.worlds < len(corpus.worlds)
    assert verdict.divergence is not None
    assert verdict.point is None


def test_a_point_that_was_not_played_makes_a_verdict_weak(tmp_path: Path) -> None:
    same = OLD.replace(", note]", "]")
    verdict = judged(
        tmp_path, same, NEW.replace(", note]", "]"), leave_out="direct-among-others"
    )

    assert [each.id for each in verdict.unplayed] == ["direct-among-others"]
    assert "HOLDS WEAKLY  identical" in str(next(lines(verdict)))


def test_a_point_does_not_concern_who_does_not_speak_of_it() -> None:
    point = next(each for each in PAIR.points if each.id == "direct-among-others")
    plain, direct = said_names([OLD]), said_names([TOOLS])

    assert point.absent({"old": plain, "new": plain}) is not None
    assert point.absent({"old": plain, "new": direct}) is None
    assert (direct.direct, direct.ordinary) == (("lookup",), ("note",))


def test_sides_for_one_engine_have_no_points() -> None:
    old, new = said_names([OLD]), said_names([NEW])

    assert pair_of(old, new) is PAIR
    assert pair_of(new, new) is None
    assert pair_of(old, old) is None


def rows_of(guide: str) -> list[str]:
    """Return the first cells of the guide's last table: what bites."""
    text = (ROOT / guide).read_text("utf-8").partition("## What bites")[2]
    cells = re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
    return [each for each in cells if each not in {"the older form", "LangChain"}]


def differing(old: str, new: str) -> Iterator[str]:
    left, right = profile(old), profile(new)
    for each in fields(left):
        if each.name != "name" and getattr(left, each.name) != getattr(
            right, each.name
        ):
            yield each.name


@pytest.mark.parametrize("pair", point_pairs(), ids=lambda pair: pair.new)
def test_each_differing_posture_and_each_row_of_the_guide_is_a_point(pair) -> None:
    about = {a for each in pair.points for a in (each.posture, each.row) if a}
    rows, postures = rows_of(pair.guide), [*differing(pair.old, pair.new)]

    assert {*rows, *postures} == about | pair.without.keys()


def test_both_frameworks_do_the_same_by_themselves_in_worlds_of_points() -> None:
    pair = point_pairs()[1]
    said = " ".join(name for each in pair.points for name in each.when)
    sources = {
        "0/old": f"world.as_langchain(), create_agent({said.replace(' ', ', ')})",
        "1/new": "world.as_pydantic_ai()",
    }
    found = point_worlds(sources, Words(), GraphWords(across=True))

    assert found is not None
    assert not found.absent
    for point, world in found.worlds:
        assert fits_across(read_scenario(world, point.id)), point.id


def test_each_point_has_worlds_for_who_has_all_that_it_is_about() -> None:
    names = [name for each in PAIR.points for name in each.when]
    said = "\n".join(dict.fromkeys(names))
    more = {"a": TOOLS, "b": said, "c": "create(response_format=Reply)"}
    old = {f"0/{name}": text for name, text in more.items()}
    new = {f"1/{name}": text for name, text in more.items()}
    sources = {**old, "0/old": OLD, **new, "1/new": NEW}
    found = point_worlds(sources, Words(), GraphWords())

    assert found is not None
    assert {*found.absent} == {"no-tool-at-all"}
    for point, world in found.worlds:
        assert read_scenario(world, point.id).runs
