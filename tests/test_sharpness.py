"""Sharpness: NEW, changed in small ways, in children of its own."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compat.cli.main import main
from compat.migration import corpus
from compat.migration.check import code_of
from compat.migration.corpus import fixed_worlds
from compat.migration.options import Reach
from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault, SidePlayed
from compat.migration.reproducer import SideFiles
from compat.migration.sharpness import SharpnessMeter, SharpnessTerms
from compat.migration.subject_process import SubjectProcess
from compat.migration.subject_runner import CheckOptions
from compat.migration.unnoticed import plays_before
from compat.pipes import Printed
from compat.verdicts.migration import Migration
from compat.verdicts.sharpness import EquivalentMark, Sharpness
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.small_changes import small_changes

OLD = """
from refengine import AgentMiddleware
def subject(world):
    def before(ctx, state):
        if len(state.messages) > 2:
            world.effect("long", len(state.messages))
    return [AgentMiddleware(additional_instruction="x", before_chat_model=before)]
"""
NEW = """
BOUND = 2
def subject(world):
    class Sees:
        name = "sees"
        def before_agent(self, ctx, config):
            config.instruction += "\\nx"
            return ctx
        def before_model_rewrite_history(self, ctx, messages):
            count = len(messages)
            while count > 100000:
                count -= 1
            if len(messages) > BOUND:
                world.effect("long", len(messages))
            return ctx, messages
    return [Sees()]
"""
MARK = """
[[equivalent]]
file = "new.py"
line = "while count > 100000:"
change = "{change}"
reason = "no history is that long"
"""


@pytest.fixture
def judged(capfd, monkeypatch, tmp_path):
    """Check old.py and new.py by the command; returns code, text and report."""
    monkeypatch.chdir(tmp_path)
    worlds = fixed_worlds
    monkeypatch.setattr(corpus, "fixed_worlds", lambda words: [*worlds(words)][::6])
    (tmp_path / "old.py").write_text(OLD, "utf-8")
    (tmp_path / "new.py").write_text(NEW, "utf-8")
    marks = MARK.format(change="100000 -> 100001") + MARK.format(change="7 -> 8")
    (tmp_path / "marks.toml").write_text(marks, "utf-8")
    given = ["old.py", "new.py", "--examples", "1", "--json", "report.json"]
    given += ["--search-plays", "0"]
    more = ["--settings", "marks.toml", "--min-sharpness", "100"]
    with pytest.raises(SystemExit) as raised:
        main(["migrate", "check", *given, *more])
    report = json.loads(Path("report.json").read_text("utf-8"))
    return raised.value.code, capfd.readouterr().out, report["sharpness"]


def test_report_says_which_small_changes_the_worlds_would_have_noticed(judged) -> None:
    code, out, found = judged

    line = f"The worlds noticed {found['noticed']} of {found['changes']} small changes"
    assert f"  {line} of NEW (" in out
    assert "  new.py:11: while count > 100000:\n" in out
    assert "    count > 100000 -> count >= 100000\n" in out
    assert "a world in which count is exactly 100000" in out
    unnoticed = {(each["line"], each["change"]) for each in found["unnoticed"]}
    assert (13, "len(messages) > BOUND -> len(messages) >= BOUND") not in unnoticed
    assert (12, "no count -= 1") in unnoticed
    assert "no world reaches line 12" in out
    # With and without what is marked as equivalent; too little of it is not a pass.
    assert found["percent"] < found["percent_without_marked"] < 100
    assert "100000 -> 100001 (no history is that long)" in out
    assert "NOT SHARP ENOUGH  less than the 100 % that are required" in out
    assert code == 4
    # A mark that no change needs is told.
    assert "marked equivalent, UNUSED: new.py, 'while count > 100000:': 7 -> 8" in out


def test_stale_mark_is_an_unused_entry() -> None:
    held = Migration("same-effects", 1, "", "identical")

    assert code_of(replace(held, sharpness=Sharpness(stale=("n.py: 7 -> 8",)))) == 5


SUBJECT = """
from pathlib import Path
from typing import Any
import subprocess
from refengine import AgentMiddleware
def subject(world):
    n = 0
    while n < 3:
        n += 1
    for path in FILES:
        Path(path).write_text("x")
        subprocess.run(["true"])
    world.effect("size", n)
    return [AgentMiddleware(additional_instruction=str(n))]
"""


def changed(folder: Path, text: str, files: str = "()") -> SubjectProcess:
    """Start a side with the small change that has this text, which reaches nothing."""
    source = f"FILES = {files}\n{SUBJECT}"
    path = folder / "n.py"
    path.write_text(source, "utf-8")
    numbers = {each.text: each.number for each in small_changes(source)}
    loading = {"change": ["n.py", numbers[text]], "steps": 10_000}
    reach = Reach(closed=True)
    return SubjectProcess(
        parse_ref(str(path)), "new", loading=loading, reach=reach
    ).waited()


def test_change_that_makes_code_endless_is_ended_after_so_many_steps(tmp_path) -> None:
    with (
        changed(tmp_path, "no n += 1") as side,
        pytest.raises(SideFault, match="it takes too many steps"),
    ):
        side.play(world(1))


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit of a process")
def test_changed_code_takes_so_much_memory_more_and_no_further() -> None:
    code = "from refengine.testing.machine import limit_memory as l; l(1 << 20)"
    done = subprocess.run(  # our own Python
        [sys.executable, "-c", f"{code}; bytearray(1 << 28)"],
        capture_output=True,
        check=False,
    )

    assert b"MemoryError" in done.stderr


def test_changed_code_writes_nothing_outside_and_starts_no_program(tmp_path) -> None:
    outside = tmp_path.parent / "outside.txt"
    with changed(tmp_path, "3 -> 4", repr((str(outside),))) as side:
        refused = side.play(world(1))

    assert "PermissionError" in refused.jsonl
    assert not outside.exists()


def test_sharpness_is_refused_where_new_reaches_outside() -> None:
    sides = FakeSides({}, outside=("used the socket db:5432",))
    found = SharpnessMeter(sides, [world(1)], SharpnessTerms(("answer",))).measure(
        [], 9
    )

    assert (
        found.refused == "NEW used the socket db:5432, which a changed one must not do"
    )
    assert found.enough
    assert not replace(found, least=1.0).enough


class FakeSide:
    """Plays nothing: what came of a world is whether its change is noticed there."""

    def __init__(
        self, change: int | None, notice: Mapping[int, int], faulty: str = "ended"
    ) -> None:
        self._change = change
        self._notice = notice
        self._faulty = faulty
        self.alive = True

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def load_anew(self, loading: Mapping[str, Any]) -> None:
        change = loading["change"]
        self._change = None if change is None else change[1]

    def play(self, scenario: Scenario, at: int) -> SidePlayed:
        (played,) = self.play_all([scenario])
        return played

    def play_all(self, worlds: Sequence[Scenario], first: int = 0):
        for each in worlds:
            if self._notice.get(self._change) == -1:
                self.alive = self._faulty != "ended"
                raise SideFault(self._faulty, "new", "n.py", "ended")
            number = len(each.model_script)
            differs = self._notice.get(self._change) == number
            end = {"status": "done" if differs else "end", "answer": "", "messages": []}
            seen = {"seq": 0, "run": 1, "kind": "run_end", "call_id": None, "data": end}
            lines = frozenset([("n.py", 2), ("n.py", 100 + number)])
            trace = json.dumps(seen) + " " * number
            yield SidePlayed(trace, {}, frozenset(), Printed(), lines=lines)


class FakeSides:
    """Change ``n`` is noticed where a script has ``notice[n]`` answers; -1 ends it."""

    label = "new"

    def __init__(self, notice: Mapping[int, int], outside: Sequence[str] = ()) -> None:
        self._notice = notice
        self._outside = tuple(outside)
        text = b"def f(a):\n    return g(1, 2, 3)\n"
        self.files = SideFiles({"n.py": text}, "n.py", "f")

    def usual(self, worlds: Sequence[Scenario]) -> list[SidePlayed]:
        played = FakeSide(None, {}).play_all(worlds)
        return [replace(each, outside=self._outside) for each in played]

    def apart(self, loading: Mapping[str, Any]) -> FakeSide:
        change = loading.get("change")
        return FakeSide(None if change is None else change[1], self._notice)


def world(answers: int) -> Scenario:
    return read_scenario({"agent": {}, "model_script": ["assistant:x"] * answers}, "t")


def measured(notice: Mapping[int, int], plays: int, **terms: object):
    given = [world(number) for number in range(100)]
    wanted = SharpnessTerms(("answer",), **terms)
    meter = SharpnessMeter(FakeSides(notice), given, wanted)
    return meter, meter.measure([], plays)


def test_plays_are_counted_and_what_they_do_not_suffice_for_is_told() -> None:
    _, found = measured({0: 0, 1: 60, 2: -1}, 100)

    assert (found.tried, found.noticed, found.untried) == (5, 3, 0)
    assert found.plays == 100
    assert {each.played for each in found.unnoticed} == {11, 26}


def test_same_plays_give_the_same_answer() -> None:
    answers = {repr(measured({1: 70, 2: 3}, 150)[1]) for _ in range(3)}

    assert len(answers) == 1


def test_changes_for_which_there_is_no_play_are_untried() -> None:
    _, found = measured({}, 20)

    assert (found.tried, found.untried, found.plays) == (3, 2, 20)


def test_search_keeps_a_share_of_its_plays_for_what_is_unnoticed() -> None:
    how = CheckOptions(search_plays=1000, sharpness_plays=2000)

    assert plays_before(how) == 750
    assert plays_before(replace(how, sharpness_plays=0)) == 1000


def test_few_plays_are_for_few_changes_from_all_over() -> None:
    _, found = measured({0: 0, 2: 0}, 10)

    assert (found.tried, found.noticed, found.untried) == (2, 2, 3)


def test_further_worlds_are_looked_at_first() -> None:
    meter, before = measured({0: 150}, 1000)
    found = meter.further([world(150)], 10)

    assert before.noticed == 0
    assert found.noticed == 1
    assert found.plays == before.plays + 5


def test_mark_covers_what_is_pinned_to_its_line() -> None:
    mark = EquivalentMark("n.py", "return g(1, 2, 3)", "3 -> 4", "it is not read")
    _, found = measured({0: 0, 1: 0, 2: 0, 3: 0}, 1000, marks=[mark])

    assert (found.raw, found.percent) == (80.0, 100.0)
    assert found.stale == ()
