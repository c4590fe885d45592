"""``refengine bench``: what it refuses, writes and leaves with, at little effort."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks import plan, rows, running
from benchmarks.kinds import KINDS
from benchmarks.measurer import ChildLostError
from benchmarks.rows import NotMeasuredError
from benchmarks.specs import Effort
from compat.cli.main import main
from compat.verdicts.cost import Bar, Costs
from compat.verdicts.exit_codes import DIFFERS, NOTHING_RAN, OK
from tests.cost_sample import about, compared, cost

TINY = Effort(sets=3, rounds=2, seconds=0.0001)
EFFORTS = ("FULL", "QUICK", "GROWING", "GROWING_QUICK", "PROBING")
HANDLER = """
    class Mine:
        name = "mine"
        def after_agent(self, ctx, messages):
            return ctx
    def subject(world):
        return [Mine()]
"""
REFUSED = "def subject(world):\n    return []\n"
FAILING = """
    class Mine:
        name = "mine"
        def after_agent(self, ctx, messages):
            raise ValueError("no disk")
    def subject(world):
        return [Mine()]
"""


@pytest.fixture
def bench(capsys):
    """Return a function that runs a command line: (code, output, errors)."""

    def call(*words):
        with pytest.raises(SystemExit) as left:
            main(["bench", *map(str, words)])
        return left.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def tiny(monkeypatch):
    """Have a run measure few rows, as shortly as can be."""
    for name in EFFORTS:
        monkeypatch.setattr(plan, name, TINY)
    monkeypatch.setattr(plan, "GROWTH_QUICK", (0, 1, 2, 3))
    monkeypatch.setattr(plan, "COPIES", (1, 2, 3, 4))
    every = list(plan.rows(quick=True))
    few = [row for row in every if row.section in {"hooks", "forms"}][-3:]
    monkeypatch.setattr(plan, "rows", lambda *, quick: iter(few))
    hook = "after_agent"
    monkeypatch.setattr(running, "KINDS", {hook: KINDS[hook]})


@pytest.fixture
def unmeasured(monkeypatch):
    """Fail if anything is measured."""

    def never(*_):
        raise AssertionError("something was measured")

    monkeypatch.setattr(running, "measured", never)


@pytest.fixture
def found(monkeypatch):
    """Return a function by which a run finds these costs, without measuring."""

    def finds(costs):
        monkeypatch.setattr(running, "measured", lambda asked, tell: costs)

    return finds


@pytest.fixture
def file(tmp_path):
    def write(text, name="mine.py"):
        (tmp_path / name).write_text(dedent(text))
        return tmp_path / name

    return write


def costs(*rows, bars=(), **header):
    told = {"tool": "0", "machine": {}, "command": "x", "quick": True, **header}
    noise = {"ratio": about(1.0).model_dump(), "band": 0.01}
    made = Costs.model_validate({"header": told, "noise": noise})
    return made.model_copy(update={"costs": rows, "bars": bars})


ROW = cost("hooks", "a hook", compared("no handlers", 1e-5, 1.5))


class TestMistake:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["--against", "a.py"], "--against compares SUBJECT with it"),
            (["--peer", "langchian"], "no peer 'langchian'; there are langchain, "),
            (["--peer", "strands", "--no-peers"], "contradict each other"),
            (["a.py", "--peer", "strands"], "leave SUBJECT out"),
            (["a.py", "--peers"], "leave SUBJECT out, or the options about peers"),
            (["a.py", "--no-peers"], "leave SUBJECT out, or the options about peers"),
            (["none.py"], "none.py"),
            (["a b:subject"], "'a b' is not a module"),
            (["a:b:c"], "write module:name, file.py:name or file.py"),
            (["HEAD:a.py"], "HEAD:a.py"),
            (["--html"], "requires an argument"),
            (["--fast"], "No such option"),
        ],
    )
    def test_of_run_is_told_before_anything_is_measured(
        self, bench, unmeasured, words, told
    ):
        code, out, err = bench("run", *words)

        assert (code, out) == (2, "")
        assert told in " ".join(err.split())
        assert "Traceback" not in err

    def test_of_against_is_told_too(self, bench, unmeasured, file):
        code, _, err = bench("run", file(HANDLER), "--against", "none.py")

        assert code == 2
        assert "none.py" in err

    @pytest.mark.parametrize("times", ["0", "-1", "many"])
    def test_of_same_is_told(self, bench, times):
        assert bench("same", "--times", times)[0] == 2

    def test_no_command_shows_those_that_there_are(self, bench):
        code, out, err = bench()

        assert code == 2
        assert all(name in out + err for name in ("run", "compare", "same"))


class TestPlaceOfAFile:
    OPTIONS = ("--json", "--html", "--markdown", "--plot")

    @pytest.mark.parametrize("option", OPTIONS)
    def test_that_does_not_exist_is_told_before_anything_is_measured(
        self, bench, unmeasured, tmp_path, option
    ):
        place = tmp_path / "none" / "report"
        code, _, err = bench("run", "--quick", option, place)

        assert code == 2
        assert f"Invalid value for '{option}': the folder of '{place}'" in err
        assert "does not exist: make it first" in err
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("option", OPTIONS)
    def test_that_is_a_folder_is_told(self, bench, unmeasured, tmp_path, option):
        code, _, err = bench("run", option, tmp_path)

        assert code == 2
        assert f"Invalid value for '{option}': '{tmp_path}'" in err
        assert "is a directory: name a file in it" in err

    def test_that_two_options_name_is_told(self, bench, unmeasured, tmp_path):
        place = tmp_path / "report"
        code, _, err = bench("run", "--json", place, "--html", place)

        assert code == 2
        assert "it is the file of --json, too" in err

    def test_that_is_good_is_left_as_it_is(self, bench, monkeypatch, tmp_path):
        def fails(*_):
            raise NotMeasuredError("it is cold")

        monkeypatch.setattr(running, "measured", fails)
        (tmp_path / "old.json").write_text("old")
        files = [tmp_path / name for name in ("old.json", "a.html", "a.md", "a.svg")]
        words = [
            word for pair in zip(self.OPTIONS, files, strict=True) for word in pair
        ]
        code, out, err = bench("run", *words)

        assert (code, out, err) == (2, "", "refengine bench run: it is cold\n")
        assert [each.name for each in tmp_path.iterdir()] == ["old.json"]
        assert files[0].read_text() == "old"


class TestRun:
    def test_of_nothing_writes_all_files(self, bench, tiny, tmp_path):
        names = ("a.json", "a.html", "a.md", "a.svg")
        files = [tmp_path / name for name in names]
        options = TestPlaceOfAFile.OPTIONS
        words = [word for pair in zip(options, files, strict=True) for word in pair]
        code, out, err = bench("run", "--quick", "--no-peers", *words)
        data = json.loads(files[0].read_text())
        adapted = data["bars"][0]

        assert err == ""
        assert code in {OK, DIFFERS}  # by what the machine did
        assert set(adapted) >= {"name", "ratio", "limit", "holds"}
        assert adapted["name"].startswith("adapted struct middleware over native")
        assert adapted["ratio"] > 0
        assert [bar["holds"] for bar in data["bars"][1:4]] == [None] * 3
        assert data["header"]["command"] == "refengine bench run --quick --no-peers"
        assert [row["blocked"] for row in data["costs"]] == [None] * 3
        assert [each["name"] for each in data["growth"]] == ["after_agent"]
        assert Costs.read(files[0].read_text()).told
        assert files[1].read_text().lstrip().lower().startswith("<!doctype html>")
        assert "after_agent" in files[2].read_text()
        assert "<svg" in files[3].read_text()
        assert "after_agent" in out

    def test_of_a_subject_tells_its_handlers_and_hooks(
        self, bench, tiny, file, tmp_path
    ):
        place = tmp_path / "a.json"
        mine, old = file(HANDLER), file(HANDLER, "old.py")
        code, out, err = bench(
            "run", mine, "--against", old, "--quick", "--json", place
        )
        read = Costs.read(place.read_text())

        assert (code, err) == (OK, "")
        assert [hook.hook for hook in read.hooks] == ["after_agent"]
        assert {over.floor for row in read.costs for over in row.compared} == {
            "no handlers",
            "against",
        }
        assert read.bars == ()
        assert read.header.subject == str(mine)
        assert "handlers[0] mine" in out

    def test_of_a_subject_that_is_none_is_a_mistake(self, bench, tiny, file):
        code, out, err = bench("run", file(REFUSED), "--quick")

        assert (code, out) == (2, "")
        assert err.startswith("refengine bench run: ")
        assert "there is nothing in it to measure" in err

    def test_of_a_subject_that_always_fails_measures_nothing(self, bench, tiny, file):
        code, out, err = bench("run", file(FAILING), "--quick")

        assert (code, err) == (NOTHING_RAN, "")
        assert "no disk" in out

    def test_against_what_always_fails_has_not_compared(self, bench, tiny, file):
        old = file(FAILING, "old.py")
        code, out, _ = bench("run", file(HANDLER), "--against", old, "--quick")

        assert code == NOTHING_RAN
        assert "no disk" in out

    def test_whose_process_is_lost_leaves_with_3(self, bench, tiny, file):
        lost = file(HANDLER.replace("return ctx", "import os; os._exit(9)"))
        code, out, err = bench("run", lost, "--quick")

        assert (code, out) == (3, "")
        assert err == (
            "refengine bench run: while it was to load the subject,"
            " the process ended with code 9\n"
        )

    @pytest.mark.parametrize("holds", [True, False, None])
    def test_leaves_with_0_whatever_its_bars(self, bench, found, holds):
        ratio = None if holds is None else 1.0
        found(costs(ROW, bars=[Bar(name="a", ratio=ratio, limit=1.1, holds=holds)]))

        assert bench("run")[0] == OK

    def test_of_no_row_leaves_with_4(self, bench, found):
        found(costs())

        assert bench("run")[0] == NOTHING_RAN

    def test_with_nothing_to_draw_says_so(self, bench, found, tmp_path):
        found(costs(ROW))
        place = tmp_path / "a.svg"
        code, _, err = bench("run", "--plot", place)

        assert (code, err) == (OK, f"{place} was not written: nothing to draw\n")
        assert not place.exists()


class TestAsked:
    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            (running.BenchRequest(), "--no-peers"),
            (running.BenchRequest(subject="my file.py"), "'my file.py'"),
            (
                running.BenchRequest(subject="a.py", against="b.py"),
                "a.py --against b.py",
            ),
            (
                running.BenchRequest(quick=True, peers=("strands",)),
                "--quick --peer strands",
            ),
            (running.BenchRequest(peers=running.PEERS), ""),
        ],
    )
    def test_command_is_the_line_that_asks_for_it(self, asked, words):
        assert asked.command == f"refengine bench run {words}".strip()


class TestSame:
    def test_tells_how_many_were_told_apart(self, bench, tiny):
        code, out, _ = bench("same", "--times", "2")

        assert code in {OK, DIFFERS}  # by what the machine did
        assert "of 2 comparisons of equal sides told them apart; at most 0.1 may" in out

    @pytest.mark.parametrize(("apart", "code"), [(5, OK), (6, DIFFERS)])
    def test_leaves_by_how_many_of_a_hundred_were(
        self, bench, monkeypatch, apart, code
    ):
        side = next(plan.rows(quick=True)).side
        changes = ["dearer"] * apart + ["not distinguishable"] * (100 - apart)
        told = [(side, about(1.0), change) for change in changes]
        monkeypatch.setattr(rows, "is_apart", lambda *_: iter(told))
        left, out, _ = bench("same")

        assert left == code
        assert f"{apart} of 100 comparisons of equal sides told them apart" in out

    def test_whose_process_is_lost_leaves_with_3(self, bench, monkeypatch):
        def lost(*_):
            raise ChildLostError("measure times", "ended with code 1", "")

        monkeypatch.setattr(rows, "answer", lost)
        code, out, err = bench("same")

        assert (code, out) == (3, "")
        assert err == (
            "refengine bench same: while it was to measure times,"
            " the process ended with code 1\n"
        )


class TestLostBar:
    def test_is_told_and_loses_nothing_else(self, monkeypatch):
        def lost(*_):
            raise ChildLostError("measure a bar", "ended with code 1", "")

        monkeypatch.setattr(running, "answer", lost)
        run = running._Run(None, running.BenchRequest(), lambda _: None)
        bars = list(run._engine_bars())

        assert bars
        assert {bar.holds for bar in bars} == {None}
        assert {bar.why for bar in bars} == {
            "while it was to measure a bar, the process ended with code 1"
        }


class TestMissingExtra:
    BLOCKED = """
        import sys
        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == sys.argv[1]:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        sys.meta_path.insert(0, Blocker())
        from compat.cli.main import main
        main(["bench", *sys.argv[2:]])
    """

    def run(self, module, *words):
        root = Path(running.__file__).parent.parent
        return subprocess.run(
            [sys.executable, "-c", dedent(self.BLOCKED), module, "run", *words],
            capture_output=True,
            check=False,
            cwd=root,
            text=True,
            timeout=60,
        )

    @pytest.mark.parametrize(
        ("module", "words"),
        [
            ("scipy", []),
            ("matplotlib", ["--html", "a.html"]),
            ("matplotlib", ["--plot", "a.svg"]),
        ],
    )
    def test_is_told_before_anything_is_measured(self, module, words):
        done = self.run(module, *words)

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("refengine bench run: refengine bench needs the")
        assert "pip install 'matplotlib>=" in done.stderr
        assert "Traceback" not in done.stderr
