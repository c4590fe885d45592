"""Small changes share a process as long as that tells the same as one of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compat.migration.changed_plays import AskedChange, ChangedOutcome, ChangedPlays
from compat.migration.options import Reach
from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault, SidePlayed
from compat.migration.subject_process import SubjectProcess
from compat.pipes import Printed
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario

WORLD = read_scenario({"agent": {}, "model_script": ["assistant:x"]}, "t")


class Process:
    """Shows its change; ``leaves`` one behind for those after it, ``dies`` of one."""

    def __init__(self, sides: Sides, loading: Mapping[str, Any]) -> None:
        self._sides = sides
        self._left = ""
        self.alive = True
        self.load_anew(loading)

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def load_anew(self, loading: Mapping[str, Any]) -> None:
        change = loading["change"]
        self._number = None if change is None else change[1]

    def play(self, scenario: Scenario, at: int) -> SidePlayed:
        self._sides.played.append((self._number, at))
        if self._number == self._sides.dies:
            self.alive = False
            raise SideFault("ended", "new", "n.py", "ended")
        shown = self._left or ("changed" if self._number in {1, 2} and at == 5 else "")
        if self._number == self._sides.leaves:
            self._left = "left behind"
        return SidePlayed(shown, {}, frozenset(), Printed())


class Sides:
    """Changes 1 and 2 are noticed in the world 5."""

    def __init__(self, leaves: int = -1, dies: int = -1) -> None:
        self.leaves = leaves
        self.dies = dies
        self.started = 0
        self.played: list[tuple[int | None, int]] = []

    def apart(self, loading: Mapping[str, Any]) -> Process:
        self.started += 1
        return Process(self, loading)


def outcomes(sides: Sides) -> list[ChangedOutcome]:
    """Return what comes of four changes in the worlds 3 to 6."""
    plays = ChangedPlays(sides, lambda _: WORLD, lambda _, played: played.jsonl != "")
    some = [AskedChange(("n.py", number), (3, 4, 5, 6)) for number in range(4)]
    return plays.outcomes(some)


def told(found: list[ChangedOutcome]) -> list[bool]:
    return [each.noticed for each in found]


def test_changes_share_a_process() -> None:
    sides = Sides()

    assert told(outcomes(sides)) == [False, True, True, False]
    assert sides.started == 1


def test_what_noticed_a_neighbour_is_played_first() -> None:
    sides = Sides()
    found = outcomes(sides)

    assert [each.played for each in found] == [4, 3, 1, 4]


def test_side_as_it_is_is_played_once_more_where_a_change_was_noticed() -> None:
    sides = Sides()
    outcomes(sides)

    assert [at for change, at in sides.played if change is None] == [5]


def test_each_has_its_own_process_where_one_left_something_behind() -> None:
    """What change 0 leaves would have change 3 noticed."""
    sides = Sides(leaves=0)
    found = outcomes(sides)

    # It shows in its own second world, too, in whatever process.
    assert told(found) == [True, True, True, False]
    assert sides.started == 1 + 4


def test_each_has_its_own_process_where_one_ends_that_of_others() -> None:
    sides = Sides(dies=2)

    assert told(outcomes(sides)) == [False, True, True, False]
    assert sides.started == 1 + 4


def test_process_of_one_that_ends_it_at_once_was_nobody_elses() -> None:
    sides = Sides(dies=0)

    assert told(outcomes(sides)) == [True, True, True, False]
    assert sides.started == 2


SUBJECT = """
from pathlib import Path
import string
from refengine import AgentMiddleware
count = 0
def subject(world):
    global count
    count += 1
    if WRITES:
        Path("seen.txt").write_text("x")
    string.count = getattr(string, "count", 0) + 1 if LEAVES else 0
    world.effect("count", [count, string.count])
    return [AgentMiddleware(additional_instruction=str(count))]
"""


@pytest.fixture
def side(tmp_path: Path):
    """Start the subject with its first small change, in one process each."""
    opened: list[SubjectProcess] = []

    def start(*, leaves: bool = False, writes: bool = False) -> SubjectProcess:
        path = tmp_path / "n.py"
        path.write_text(f"LEAVES = {leaves}\nWRITES = {writes}\n{SUBJECT}", "utf-8")
        loading = {"change": None, "steps": 10_000}
        reach = Reach(closed=True)
        opened.append(
            SubjectProcess(
                parse_ref(str(path)), "new", loading=loading, reach=reach
            ).waited()
        )
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_own_code_that_is_loaded_anew_begins_at_its_beginning(side) -> None:
    here = side()
    first = here.play(WORLD).jsonl
    again = here.play(WORLD).jsonl
    here.load_anew({"change": None, "steps": 10_000})

    assert first != again
    assert here.play(WORLD).jsonl == first


def test_other_changes_are_made_when_it_is_loaded_anew(side) -> None:
    here = side()
    first = here.play(WORLD).jsonl
    here.load_anew({"change": ["n.py", 0], "steps": 10_000})
    changed = here.play(WORLD).jsonl
    here.load_anew({"change": None, "steps": 10_000})

    assert changed != first
    assert here.play(WORLD).jsonl == first


def test_what_is_left_outside_own_code_is_there_when_it_is_loaded_anew(side) -> None:
    here = side(leaves=True)
    first = here.play(WORLD).jsonl
    here.load_anew({"change": None, "steps": 10_000})

    assert here.play(WORLD).jsonl != first


def test_side_whose_sessions_write_files_is_not_loaded_anew(side) -> None:
    here = side(writes=True)
    here.play(WORLD)

    with pytest.raises(SideFault, match="its sessions write files"):
        here.load_anew({"change": None, "steps": 10_000})
