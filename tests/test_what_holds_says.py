"""What a verdict that holds may say: alone, or weakly, and whose code it rests on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from compat.migration.check import check_all, code_of
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.own_code import OwnCode
from compat.migration.refs import parse_ref
from compat.migration.reproducer import SideFiles
from compat.migration.subject_runner import CheckOptions
from compat.report.migration import SCREEN, case_line, lines
from compat.report.migration_for_ci import junit_text, markdown_text
from compat.report.migration_json import to_json
from compat.verdicts.migration import (
    DescribedDivergence,
    Difference,
    Exercise,
    JudgedCase,
    Migration,
    PointsVerdict,
    PointVerdict,
)
from compat.verdicts.sharpness import EquivalentMark, Sharpness, Unnoticed
from compat.verdicts.weakness import TELLING, is_weak, most_telling
from refengine.testing.scenario_files import read_scenario
from refengine.testing.small_changes import OPERATORS

SHARP = Sharpness(tried=10, noticed=9)
SHARED = PointVerdict("direct", "", "posture direct_calls", "unplayed", "left out")
POINTS = PointsVerdict("a-1", "b-1", "guide", [SHARED])
CHANGE = Unnoticed(
    *("old.py", 3, "if n > LIMIT:", "comparison", "n > LIMIT -> n >= LIMIT"),
    *("a world in which n is exactly 5", 7, 7),
)
BLUNT = Sharpness(tried=10, noticed=8, unnoticed=(CHANGE, replace(CHANGE, line=4)))
ALONE = Migration(
    *("same-effects", 1, "", "identical"),
    exercise={"old": Exercise("old.py", {}, 2), "new": Exercise("new.py", {}, 2)},
    sharpness=SHARP,
    sharpness_old=SHARP,
)
UNTAKEN = Exercise("old.py", {}, 2, ("old.py, line 3: if n > LIMIT: true",))


IN_GO = {"old": Exercise("old.go", {}), "new": Exercise("new.go:Subject", {})}


def headline(verdict: Migration) -> str:
    """Return the lines of the headline as one."""
    told = [str(each) for each in lines(verdict)]
    until = next(at for at, each in enumerate(told) if "The worlds" in each or not each)
    return " ".join(each.strip() for each in told[:until])


def test_identical_stands_alone_where_nothing_went_unnoticed() -> None:
    assert headline(ALONE) == "HOLDS  identical"
    assert not is_weak(ALONE)


def test_a_condition_that_was_cut_short_is_told_once() -> None:
    cut = Exercise("old.py", {}, 2, ("old.py, line 3: if n > LIMIT and (m…: true",))
    told = headline(replace(ALONE, exercise={**ALONE.exercise, "old": cut}))

    assert "(needs a world in which that is true)" in told
    assert told.count("LIMIT") == 1


@pytest.mark.parametrize(
    ("verdict", "thing"),
    [
        (
            replace(ALONE, exercise={**ALONE.exercise, "old": UNTAKEN}),
            "OLD old.py:3: if n > LIMIT: true was taken by no world (needs a world in",
        ),
        (
            replace(ALONE, points=POINTS),
            "the point direct was not played (needs one of its worlds)",
        ),
        (
            replace(ALONE, sharpness_old=BLUNT),
            "OLD old.py:3: n > LIMIT -> n >= LIMIT was not noticed (needs a world in",
        ),
        (
            replace(ALONE, sharpness=Sharpness(refused="NEW used a socket")),
            "no small change of NEW was played (needs other code: NEW used a socket)",
        ),
        (
            replace(ALONE, sharpness=Sharpness(untried=3)),
            "no small change of NEW was played (needs more plays of small changes)",
        ),
        (
            replace(ALONE, sharpness=None, sharpness_old=None),
            "no small change of either side was played (needs --strict or",
        ),
        (
            replace(ALONE, sharpness=None, sharpness_old=None, exercise=IN_GO),
            "no small change of either side was played (needs sessions of your own,",
        ),
    ],
    ids=["branch", "point", "blunt", "refused", "untried", "unplayed", "unplayable"],
)
def test_what_no_world_noticed_makes_it_weak_in_every_report(
    verdict: Migration, thing: str
) -> None:
    case = JudgedCase(
        "trim", "new.py", "same-effects", "identical", met=True, verdict=verdict
    )
    [first, *_] = to_json(verdict)["weakly"]
    page = markdown_text([case])
    suites = junit_text([case])

    assert headline(verdict).startswith(f"HOLDS WEAKLY  identical: {thing}")
    assert thing.startswith(first["what"])
    assert str(case_line(case)) == "weakly  trim/new.py  identical"
    assert "| 🟡 |" in page
    assert f'<property name="weakly" value="{thing[:40]}' in suites.replace("&gt;", ">")
    told = [" ".join(str(each).split()) for each in lines(verdict)]
    assert any(each.startswith("So this is no proof yet; it passes") for each in told)
    asked = [str(each) for each in lines(replace(verdict, strict=True))]
    assert any("does not pass: --strict" in each for each in asked)
    # Of itself it is no failure.
    assert code_of(verdict) == 0
    assert code_of(replace(verdict, strict=True)) == 4


def test_a_headline_tells_two_things_of_different_kinds() -> None:
    sides = {**ALONE.exercise, "old": UNTAKEN}
    verdict = replace(ALONE, exercise=sides, sharpness_old=BLUNT)

    assert [each.what.split()[-1] for each in most_telling(verdict)] == [
        "world",
        "noticed",
    ]


def test_a_gap_of_a_line_on_both_sides_is_told_once() -> None:
    there = replace(CHANGE, file="new.py", line=9)
    other = replace(there, change="n > LIMIT -> n < LIMIT")
    new = replace(BLUNT, unnoticed=(there, other))
    verdict = replace(ALONE, sharpness=new, sharpness_old=BLUNT)
    told = [str(each) for each in lines(verdict)]

    assert [each.what.split(":")[0] for each in most_telling(verdict)] == [
        "OLD old.py",
        "NEW new.py",
    ]
    assert "Nor of NEW: 1 change of a line that is on both sides." in told
    assert sum("new.py:9: if n > LIMIT:" in each for each in told) == 1


def test_a_gap_whose_counterpart_is_marked_equivalent_is_told() -> None:
    there = replace(CHANGE, file="new.py", line=9)
    marked = replace(BLUNT, unnoticed=(replace(CHANGE, reason="it is the same"),))
    new = replace(BLUNT, unnoticed=(there,))
    told = [str(x) for x in lines(replace(ALONE, sharpness=new, sharpness_old=marked))]

    assert sum("new.py:9: if n > LIMIT:" in each for each in told) == 1
    assert not any(each.startswith("Nor of NEW") for each in told)


def test_each_kind_of_small_change_has_its_place_among_what_is_told() -> None:
    assert sorted(TELLING) == sorted(OPERATORS)


@pytest.mark.parametrize(
    "arm",
    ["if isinstance(x, int): false", "for at in range(1, TRIES + 1): not entered"],
)
def test_a_branch_that_hardly_a_world_could_take_is_told_last(arm: str) -> None:
    arms = (f"old.py, line 2: {arm}", *UNTAKEN.uncovered)
    sides = {**ALONE.exercise, "old": replace(UNTAKEN, uncovered=arms)}
    told = [each.what for each in most_telling(replace(ALONE, exercise=sides))]

    assert [each.split(": ")[0] for each in told] == ["OLD old.py:3", "OLD old.py:2"]


def test_least_sharpness_is_asked_of_both_sides() -> None:
    blunt = replace(BLUNT, least=90.0)
    sharp = replace(SHARP, least=90.0)

    assert code_of(replace(ALONE, sharpness=sharp, sharpness_old=blunt)) == 4
    assert code_of(replace(ALONE, sharpness=sharp, sharpness_old=sharp)) == 0
    # A side that has nothing of its own rests on the other; one of them has to have.
    none = Sharpness(least=90.0)
    assert code_of(replace(ALONE, sharpness=none, sharpness_old=sharp)) == 0
    assert code_of(replace(ALONE, sharpness=none, sharpness_old=none)) == 4


# Whose code is whose

HELPER = """
LIMIT = 2
def tail(messages):
    if len(messages) > LIMIT:
        return messages[-LIMIT:]
    return messages
"""
OLD = f"""
from refengine import AgentMiddleware
{HELPER}
def subject(world):
    def before(ctx, state):
        if len(state.messages) > LIMIT:
            world.effect("long", len(state.messages))
        state.messages = tail(state.messages)
    return [AgentMiddleware(additional_instruction="x", before_chat_model=before)]
"""
NEW_SUBJECT = """
def subject(world):
    class Trim:
        name = "trim"
        def before_agent(self, ctx, config):
            config.instruction += "\\nx"
            return ctx
        def before_model_rewrite_history(self, ctx, messages):
            if len(messages) > LIMIT:
                world.effect("long", len(messages))
            return ctx, tail(list(messages))
    return [Trim()]
"""
NEW = f"from old import LIMIT, tail\n{NEW_SUBJECT}"
BOTH = OLD + NEW_SUBJECT.replace("def subject", "def ported")


def worlds() -> Iterator[MigrationWorld]:
    for at in range(6):
        said = [f"user:{at}", "assistant:b"] * at + ["user:c"]
        scenario = {"agent": {}, "model_script": ["assistant:x"], "runs": []}
        data = {**scenario, "runs": [{"input": said}]}
        yield MigrationWorld(read_scenario(data, "t"), "happy", fixed=True)


def judged(
    folder: Path,
    files: Mapping[str, str],
    refs: tuple[str, str] = ("old.py", "new.py"),
    marks: Sequence[EquivalentMark] = (),
) -> Migration:
    """Return the verdict on these files in a few worlds, with its sharpness."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    old, new = (parse_ref(f"{folder}/{each}") for each in refs)
    how = CheckOptions(sharpness_plays=400)
    sides = {"new": (new, Terms(marks=tuple(marks)))}
    corpus = Corpus(tuple(worlds()), 0)
    return check_all(old, sides, corpus, how, explain=True)["new"].verdict


@pytest.mark.parametrize(
    ("files", "refs"),
    [
        ({"old.py": OLD, "new.py": NEW}, ("old.py", "new.py")),
        ({"both.py": BOTH}, ("both.py:subject", "both.py:ported")),
    ],
    ids=["imported", "one file"],
)
def test_a_helper_that_new_has_from_old_counts_as_olds_alone(
    tmp_path: Path, files: Mapping[str, str], refs: tuple[str, str]
) -> None:
    verdict = judged(tmp_path, files, refs)
    ours, theirs = verdict.sharpness_old, verdict.sharpness

    assert ours is not None
    assert theirs is not None
    assert {side: each.arms for side, each in verdict.exercise.items()} == {
        "old": 4,  # the helper's, and those of its hook
        "new": 2,
    }
    assert min(ours.percent, theirs.percent) > 90
    assert headline(verdict) == "HOLDS  identical"


def test_small_changes_of_old_are_played_against_old(tmp_path: Path) -> None:
    old = OLD.replace("len(state.messages))", "len(state.messages) > 90)")
    blind = old.replace("world.effect", "state and world.effect")
    new = NEW.replace('"long", len(messages)', '"long", len(messages) > 90')
    verdict = judged(tmp_path, {"old.py": blind, "new.py": new})
    found = verdict.sharpness_old

    assert found is not None
    assert {each.change for each in found.unnoticed} >= {
        "len(state.messages) > 90 -> len(state.messages) >= 90",
        "90 -> 91",
    }
    assert headline(verdict).startswith("HOLDS WEAKLY  identical: OLD old.py:")


PAUSES = """
import asyncio
from refengine import with_before_model_rewrite_history

def subject(world):
    async def before(ctx, messages):
        await asyncio.sleep(3)
        return ctx, messages
    return [with_before_model_rewrite_history(before)]
"""


def test_small_changes_of_a_pause_are_noticed(tmp_path: Path) -> None:
    found = judged(tmp_path, {"old.py": PAUSES, "new.py": PAUSES}).sharpness_old

    assert found is not None
    assert found.tried
    assert found.unnoticed == ()


def test_a_branch_that_is_marked_is_out_of_reach(tmp_path: Path) -> None:
    line = "if len(messages) > LIMIT:"
    guarded = OLD.replace(line, "if LIMIT and len(messages) > LIMIT:")
    branch = "LIMIT and …: false"
    mark = EquivalentMark("old.py", guarded.splitlines()[5].strip(), branch, "never")
    files = {"old.py": guarded, "new.py": NEW}
    unmarked = judged(tmp_path, files)
    verdict = judged(tmp_path, files, marks=[mark])

    assert f"identical: OLD old.py:6: {branch} was taken by no world" in headline(
        unmarked
    )
    assert "was taken by no world" not in headline(verdict)
    assert verdict.exercise["old"].marked == {f"old.py, line 6: {branch}": "never"}
    # One that nothing needs is told, as any mark is.
    assert judged(tmp_path, {"old.py": OLD, "new.py": NEW}, marks=[mark]).stale


def test_code_that_only_new_leads_to_is_news_wherever_it_stands() -> None:
    more = OLD + "\ndef spare():\n    return 1\n"
    old = SideFiles({"old.py": more.encode()}, "old.py", "subject")
    new = SideFiles(
        {"new.py": b"from old import spare\ndef subject(world):\n    spare()\n"}
        | {**old.files},
        *("new.py", "subject"),
    )
    own = OwnCode.of(old, new)
    spare = len(more.splitlines())

    assert own.is_new("old.py", spare)
    assert not own.is_old("old.py", spare)
    assert own.is_old("old.py", 5)
    assert not own.is_new("old.py", 5)
    # One piece of code that is both sides is that of both.
    one = OwnCode.of(old, old)
    assert one.is_old("old.py", 5)
    assert one.is_new("old.py", 5)


def test_page_of_an_upgrade_that_holds_says_of_what_and_how_sharp_it_is() -> None:
    """As the comment of a pull request that raises a dependency."""
    verdict = replace(ALONE, versions={"langchain": ("1.4", "1.5")})
    case = JudgedCase(
        "", "agent.py", "same-effects", "identical", met=True, verdict=verdict
    )

    said = markdown_text([case]).replace("\\", "").partition("### agent.py\n\n")[2]

    assert said.splitlines()[0] == "- old → new: langchain 1.4 → 1.5"
    assert "9 of 10 small changes of NEW (90 %)." in said.splitlines()[-1]


def test_a_very_long_world_is_shown_by_its_beginning() -> None:
    tools = [{"name": f"a_tool_with_a_long_name_{at}"} for at in range(90)]
    seen = Difference("requests", "[0]", 1, 2)
    verdict = replace(
        ALONE,
        holds=None,
        divergence=DescribedDivergence("SETTINGS", "error", "", seen, "run 1"),
        world=read_scenario({"agent": {"tools": tools}, "runs": [{"input": []}]}),
    )

    told = [line.plain for line in lines(verdict)]

    assert sum("a_tool_with" in line for line in told) == SCREEN - 2
    assert [line for line in told if "# " in line] == [
        "    # 55 more lines: --save-world FILE writes all of it"
    ]
