"""Two reports against each other: verdicts, files that are none, exit codes."""

import json
from math import inf, nan

import pytest

from benchmarks.comparing import NotAReportError, change_of, differing, read
from benchmarks.comparing import compared as rows_of
from benchmarks.plan import rows, subject_rows
from compat.cli.main import main
from compat.verdicts.cost import (
    Blocked,
    CostHeader,
    CostNoise,
    Costs,
    Estimate,
    Missing,
)
from tests.cost_sample import about, compared, cost

LIMIT = 1.2
QUIET = CostNoise(ratio=about(1.0, 0.01), band=0.01)
MACHINE = {"cpu": "a", "cores": "2"}


def header(**changes):
    plain = CostHeader(
        tool="0", machine=MACHINE, command="refengine bench run", quick=True
    )
    return plain.model_copy(update=changes)


def report(*costs, noise=QUIET, **changes):
    return Costs(header=header(**changes), noise=noise, costs=costs)


def ratio(value, part=0.01):
    """Return the cost of a row, so many times its floor."""
    over = compared("no handlers", 1e-5 * value, value)
    over = over.model_copy(update={"ratio": about(value, part)})
    return cost("hooks", "a hook", over)


def blocked():
    why = Blocked(clause="RUN-004", why="the tool ran 0 times")
    return cost("hooks", "a hook", blocked=why)


def judged(old, new, limit=LIMIT):
    return list(rows_of(report(old), report(new), limit))


class TestVerdict:
    @pytest.mark.parametrize(
        ("times", "verdict"),
        [
            (1.0, "not distinguishable"),
            (1.005, "not distinguishable"),
            (1.1, "pass"),
            (0.9, "pass"),
            (0.5, "pass"),
            (1.3, "fail"),
            (2.0, "fail"),
        ],
    )
    def test_is_by_how_many_times_the_ratio_became(self, times, verdict):
        [row] = judged(ratio(3.0), ratio(3.0 * times))

        assert row.verdict == verdict
        assert row.change is not None
        assert row.change.value == pytest.approx(times)

    def test_is_not_told_where_the_interval_holds_the_limit(self):
        [row] = judged(ratio(3.0, 0.05), ratio(3.6, 0.05))

        assert row.verdict == "not distinguishable"
        assert row.why == "it changed, but the interval holds the limit of 1.2"

    def test_is_not_told_where_the_interval_holds_1(self):
        [row] = judged(ratio(3.0, 0.6), ratio(6.0, 0.6))

        assert (row.verdict, row.why) == ("not distinguishable", "")

    def test_is_not_told_within_the_noise_of_either(self):
        loud = report(ratio(4.0), noise=CostNoise(ratio=about(1.5), band=0.5))
        calm = report(ratio(3.0))

        for old, new in [(loud, calm), (calm, loud)]:
            assert [row.verdict for row in rows_of(old, new, LIMIT)] == [
                "not distinguishable"
            ]

    def test_is_by_the_limit_that_was_given(self):
        assert [row.verdict for row in judged(ratio(3.0), ratio(6.0), 2.5)] == ["pass"]

    @pytest.mark.parametrize("which", ["first", "second"])
    def test_of_a_row_that_one_has_is_not_shown(self, which):
        both = [report(ratio(3.0)), report()]
        old, new = both if which == "first" else reversed(both)
        [row] = rows_of(old, new, LIMIT)

        assert (row.verdict, row.why) == ("not shown", f"only the {which} has it")

    def test_of_a_floor_that_one_has_is_not_shown(self):
        gone = Missing(floor="no handlers", why="no")
        [row] = judged(ratio(3.0), cost("hooks", "a hook", missing=(gone,)))

        assert (row.verdict, row.floor) == ("not shown", "no handlers")

    def test_of_a_blocked_row_is_not_shown_and_says_why(self):
        found = judged(ratio(3.0), blocked())

        assert [(row.verdict, row.why) for row in found] == [
            ("not shown", "only the first has it"),
            ("not shown", "the tool ran 0 times"),
        ]

    def test_of_rows_that_only_share_their_place_is_not_shown(self):
        # Rows of a subject's handlers go by their places in its list.
        old = ratio(3.0).model_copy(update={"name": "handlers[0] cache"})
        new = ratio(3.0).model_copy(update={"name": "handlers[0] logging"})
        [row] = judged(old, new)

        assert (row.verdict, row.why) == (
            "not shown",
            "in the first it is handlers[0] cache",
        )


class TestChange:
    def test_of_exact_ratios_is_exact(self):
        exact = [Estimate(value=each, low=each, high=each) for each in (2.0, 3.0)]
        found = change_of(*exact)

        assert (found.low, found.value, found.high) == pytest.approx((1.5, 1.5, 1.5))

    def test_has_the_errors_of_both(self):
        wide = Estimate(value=1.0, low=0.5, high=2.0)
        found = change_of(wide, wide)

        assert found.value == pytest.approx(1.0)
        assert found.low == pytest.approx(2 ** -(2**0.5))
        assert found.high == pytest.approx(2 ** (2**0.5))


class TestDiffering:
    def test_reports_of_equal_runs_differ_in_nothing(self):
        assert list(differing(report(), report())) == []

    def test_machines_that_differ_are_told(self):
        other = report(machine={"cpu": "b", "os": "c"})

        assert list(differing(report(), other)) == [
            "cores: 2 against unknown",
            "cpu: a against b",
            "os: unknown against c",
        ]

    def test_a_quick_run_and_another_subject_are_told(self):
        other = report(quick=False, subject="mine.py")

        assert list(differing(report(), other)) == [
            "one of them is a quick run",
            "subject: None against mine.py",
        ]


def broken(changes):
    """Return a report as JSON values, with one value of its only row changed."""
    data = json.loads(report(ratio(3.0)).model_dump_json())
    data["costs"][0]["compared"][0]["ratio"].update(changes)
    return json.dumps(data)


def changed(**values):
    data = json.loads(report(ratio(3.0)).model_dump_json())
    return json.dumps({**data, **values})


def twice():
    return report(ratio(3.0), ratio(3.0)).model_dump_json()


BROKEN = {
    "": "the whole: Invalid JSON",
    "{": "the whole: Invalid JSON",
    "[]": "the whole: Input should be an object",
    "{}": "header: is missing",
    changed(colour="red"): "colour: Extra inputs are not permitted",
    changed(header={**header().model_dump(), "version": 2}): "header.version",
    broken({"value": 0, "low": 0}): "a ratio is above 0",
    broken({"low": -1}): "a ratio is above 0",
    broken({"high": 0.5}): "a ratio is above 0",
    broken({"value": nan}): "ratio.value: Input should be a finite number",
    broken({"high": inf}): "ratio.high: Input should be a finite number",
    broken({"value": "dear"}): "ratio.value: Input should be a valid number",
    changed(noise={"ratio": about(1).model_dump(), "band": nan}): "noise.band",
    changed(noise={"ratio": about(1).model_dump(), "band": -1}): "noise.band",
    twice(): "the row is there twice",
}


class TestFile:
    def test_that_a_run_wrote_is_read_as_it_was(self, tmp_path):
        file = tmp_path / "a.json"
        file.write_text(report(ratio(3.0), blocked()).model_dump_json())

        assert read(file) == report(ratio(3.0), blocked())

    @pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
    def test_that_is_broken_says_where(self, tmp_path, text):
        file = tmp_path / "a.json"
        file.write_text(text)

        with pytest.raises(NotAReportError) as caught:
            read(file)

        assert str(caught.value).startswith(f"{file}: no report of bench run --json: ")
        assert BROKEN[text] in str(caught.value)

    def test_that_is_no_text_says_so(self, tmp_path):
        file = tmp_path / "a.json"
        file.write_bytes(b"\xff\xfe\x00")

        with pytest.raises(NotAReportError, match="it is not text"):
            read(file)


class TestCommand:
    @pytest.fixture
    def compare(self, tmp_path, capsys):
        """Return a function that compares texts, or reports, by the command line."""

        def call(old, new, *more):
            files = []
            for at, each in enumerate((old, new)):
                file = tmp_path / f"{at}.json"
                text = each if isinstance(each, str) else each.model_dump_json()
                file.write_text(text)
                files.append(str(file))
            with pytest.raises(SystemExit) as left:
                main(["bench", "compare", *files, *more])
            return left.value.code, *capsys.readouterr()

        return call

    @pytest.mark.parametrize(
        ("old", "new", "code"),
        [
            (ratio(3.0), ratio(3.0), 0),
            (ratio(3.0), ratio(3.3), 0),
            (ratio(3.0), ratio(6.0), 1),
            (ratio(3.0), blocked(), 6),
            (blocked(), blocked(), 6),
        ],
    )
    def test_leaves_with_the_code_of_its_rows(self, compare, old, new, code):
        assert compare(report(old), report(new))[0] == code

    def test_of_nothing_in_common_leaves_with_6(self, compare):
        code, out, _ = compare(report(), report())

        assert code == 6
        assert "share no row" in out

    def test_may_fail_above_another_limit(self, compare):
        texts = report(ratio(3.0)), report(ratio(6.0))

        assert compare(*texts, "--fail-above", "2.5")[0] == 0
        assert compare(*texts, "--fail-above", "1.5")[0] == 1

    @pytest.mark.parametrize("limit", ["0.9", "nan", "much"])
    def test_refuses_a_limit_that_is_none(self, compare, limit):
        assert compare(report(), report(), "--fail-above", limit)[0] == 2

    @pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
    def test_tells_a_broken_file_without_a_traceback(self, compare, text):
        code, out, err = compare(report(ratio(3.0)), text)

        assert (code, out) == (2, "")
        assert err.startswith("refengine bench compare: ")
        assert err.count("\n") == 1

    def test_tells_a_file_that_is_not_there(self, tmp_path, capsys):
        missing = str(tmp_path / "none.json")

        with pytest.raises(SystemExit) as left:
            main(["bench", "compare", missing, missing])

        assert left.value.code == 2
        assert capsys.readouterr().err == (
            f"refengine bench compare: {missing}: No such file or directory\n"
        )

    def test_tells_machines_that_differ(self, compare):
        other = report(ratio(3.0), machine={"cpu": "b"})
        _, out, _ = compare(report(ratio(3.0)), other)

        assert "The two differ in cpu: a against b" in out


class TestKeys:
    @pytest.mark.parametrize("quick", [True, False])
    def test_no_two_rows_of_a_run_have_one_key(self, quick):
        keys = [row.key for row in rows(quick=quick)]

        assert len(set(keys)) == len(keys)

    def test_each_handler_of_a_subject_has_a_key_of_its_own(self):
        found = list(subject_rows(["a", "b", "b"], against=True))
        keys = [row.key for row in found]

        assert [row.name for row in found if row.section == "handlers"] == list("abb")
        assert len(set(keys)) == len(keys)
