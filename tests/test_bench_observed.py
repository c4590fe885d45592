"""``refengine bench run --setup``: what a setup costs, and what it refuses."""

from pathlib import Path

import pytest

from benchmarks import observed
from benchmarks.rows import NotMeasuredError
from benchmarks.running import BenchRequest, measured
from compat.cli.main import main
from compat.report.cost_says import says, says_not

SQUARED = """
    from tests import peers_fakes
    peers_fakes.spins = lambda n: n * n * 100
"""
POINTS = {"handlers": (0, 1, 10, 30), "chunks": (1, 2, 3, 4)}


@pytest.fixture
def observing(tmp_path, monkeypatch):
    """Measure a framework that is made up, plain and with a setup, shortly."""
    monkeypatch.setattr(observed, "QUICK", POINTS)
    setup = tmp_path / "tracing.py"

    def measure(text, peer="GROWING"):
        setup.write_text("\n".join(map(str.strip, text.splitlines())), "utf-8")
        peers = (f"tests.peers_fakes:{peer}",)
        return measured(BenchRequest(quick=True, peers=peers, setup=setup), str)

    return measure


@pytest.fixture
def refused(capsys):
    """Return what a command line is refused with."""

    def call(*words):
        with pytest.raises(SystemExit) as left:
            main(["bench", "run", *map(str, words)])
        assert left.value.code == 2
        return capsys.readouterr().err

    return call


def test_setup_that_works_the_square_of_the_handlers_grows_faster_than_the_work(
    observing,
):
    """The ratio to the plain run rises, and the report says so."""
    found = observing(SQUARED)

    [growth] = found.growth
    assert growth.faster
    assert growth.rise.low > 2
    assert [point.n for point in growth.points] == [0, 1, 10, 30]
    assert any("grows faster than the work" in each for each in says(found))
    assert [each.name for each in found.costs] == [
        f"tests.peers_fakes:GROWING 2.14.4: growing, handlers: {what}"
        for what in ("a run without handlers", "one handler more")
    ]


def test_setup_that_changes_nothing_has_no_numbers_and_is_asked_whether_it_is_on(
    observing,
):
    """A ratio of 1 by a setup that is not on would be a lie."""
    found = observing("VERSION = 1")

    assert not found.costs
    assert "GROWING: tracing.py: no span, no patch: is it on?" in "\n".join(
        says_not(found)
    )


def test_framework_that_was_measured_is_not_called_absent(observing):
    """It is told that the setup began no span there, which is no word of absence."""
    found = observing(SQUARED)

    assert found.costs
    assert not found.absent
    told = "\n".join(says_not(found))
    assert "GROWING: tracing.py: no span, 1 patch: is it on?" in told
    assert "absent" not in told


def test_setup_that_fails_is_named_with_its_line(observing):
    """It is the user's mistake, and told as such."""
    with pytest.raises(NotMeasuredError, match=r"tracing\.py fails: ZeroDiv.*line 1\)"):
        observing("1 / 0")


def test_framework_that_is_absent_is_named(observing):
    """Where no framework runs nothing can be measured."""
    with pytest.raises(NotMeasuredError, match=r"no framework runs here: .*ABSENT"):
        observing("VERSION = 1", "ABSENT")


NODE_SETUP = str(Path(__file__).parent / "programs" / "plain.mjs")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--setup", NODE_SETUP], "a module of Node's, and the frameworks that are"),
        (["--setup", "nowhere.py"], "there is no setup nowhere.py"),
        (["--with", "pydantic"], "--with is for what --setup observes"),
        (["mine.py", "--setup", __file__], "leave SUBJECT out"),
        (["--setup", __file__, "--no-peers"], "contradict each other"),
    ],
    ids=["node", "missing", "with alone", "subject", "no peers"],
)
def test_setup_is_refused_where_it_means_nothing(refused, words, why):
    """One line says what was given, and what would be right."""
    assert why in refused(*words)
