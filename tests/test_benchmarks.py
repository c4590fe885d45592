"""The measuring code: what it counts and computes. No test here asserts a time."""

import asyncio
import gc
import json
import platform
import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import bars, engine_runs, measure
from benchmarks.bars import BARS
from benchmarks.engine_runs import ChainNotEmptyError
from benchmarks.measure import (
    FEWEST,
    MeasuredBar,
    MeasuredPair,
    MeasuredSide,
    Ratio,
    Round,
    TooFewRoundsError,
    WorkDiffersError,
    admit,
    measured,
    ratio_of,
    repeats,
    sample,
    series,
    turns,
)
from benchmarks.noops import Preparer, Rewriter
from benchmarks.parts import (
    ANSWERS,
    ASKS,
    CannedModel,
    SharedParts,
)
from refengine.context import Context
from refengine.testing import machine

README = Path(__file__).parent.parent / "benchmarks" / "README.md"
LIMITS = {1: 1.02, 2: 1.5, 3: 2.5, 4: 3.0, 5: 1.1, 6: 8.0, 7: 1.2}
KEPT = "Sink.append"
"""What only a side that keeps its runs calls."""


def rounds(*pairs):
    return [Round(floor, subject) for floor, subject in pairs]


class Clock:
    """A clock that only work moves."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.order = []
        monkeypatch.setattr(measure, "CLOCK", lambda: self.now)

    def side(self, name, seconds, units=1):
        async def work():
            self.order.append((name, gc.isenabled()))
            self.now += seconds

        return MeasuredSide(work, units=units)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class TestRatio:
    def test_is_the_median_over_rounds_with_the_middle_half(self):
        got = ratio_of("x", rounds((1, 1), (1, 2), (1, 3), (1, 4), (1, 5)))

        assert (got.low, got.ratio, got.high) == (2, 3, 4)

    def test_is_taken_in_each_round_not_of_the_medians(self):
        slow_machine = rounds((1, 2), (1, 2), (50, 100), (70, 140))

        assert ratio_of("x", slow_machine).ratio == 2

    def test_one_interrupted_sample_is_no_news(self):
        calm = [(1, 2)] * 8
        got = ratio_of("x", rounds(*calm, (1, 1000)))

        assert (got.low, got.ratio, got.high) == (2, 2, 2)

    def test_tells_the_median_time_of_both_sides(self):
        got = ratio_of("x", rounds((1, 9), (2, 8), (3, 7)))

        assert (got.floor, got.subject) == (2, 8)

    @pytest.mark.parametrize("few", [[], [(1, 1)]])
    def test_needs_two_rounds(self, few):
        with pytest.raises(TooFewRoundsError, match=f"{len(few)} rounds"):
            ratio_of("x", rounds(*few))

    @pytest.mark.parametrize(
        ("limit", "holds"), [(1.99, False), (2.0, True), (None, True)]
    )
    def test_holds_up_to_its_limit(self, limit, holds):
        assert ratio_of("x", rounds((1, 2), (1, 2)), limit).holds is holds


class TestSample:
    def test_is_the_time_of_one_unit(self, clock):
        assert asyncio.run(sample(clock.side("x", 6.0, units=3), 5)) == 2.0

    def test_is_repeated_until_it_is_long_enough(self, clock):
        times = asyncio.run(repeats(clock.side("x", 0.25, units=7), 4.0))

        assert times == 16

    def test_of_no_time_is_repeated_more_often(self, clock):
        zeros = iter([0.0] * 5)
        side = clock.side("x", 1.0)

        async def work():
            if next(zeros, None) is None:
                await side.work()

        assert asyncio.run(repeats(MeasuredSide(work), 1.0)) > 1


class TestSeries:
    def pair(self, clock):
        return MeasuredPair(clock.side("floor", 2.0), clock.side("subject", 2.0))

    def test_of_a_side_against_itself_is_one(self, clock):
        got = ratio_of("x", asyncio.run(series(self.pair(clock), 6, seconds=1.0)))

        assert (got.low, got.ratio, got.high) == (1, 1, 1)

    def test_takes_turns_in_going_first(self, clock):
        asyncio.run(series(self.pair(clock), 4, seconds=1.0))
        after_warm_up = [name for name, _ in clock.order[2:]]

        first = ["floor", "subject"]
        assert after_warm_up == [*first, *reversed(first), *first, *reversed(first)]

    def test_runs_without_garbage_collection(self, clock):
        asyncio.run(series(self.pair(clock), 2, seconds=1.0))

        assert gc.isenabled()
        assert not any(enabled for _, enabled in clock.order)

    def test_ends_with_its_budget_but_takes_a_few_rounds(self, clock):
        sides = [clock.side("bare", 1.0), clock.side("ours", 2.0)]
        taken = asyncio.run(turns(sides, 20, 1.0, budget=0.0))

        assert taken == [(1.0, 2.0)] * FEWEST

    def test_that_fails_leaves_garbage_collection_on(self):
        async def work():
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            asyncio.run(series(MeasuredPair(MeasuredSide(work), MeasuredSide(work)), 2))

        assert gc.isenabled()


def small(make):
    """Return a bar over a pair that is made of one model, which answers at once."""

    async def set_up(kit):
        model = kit.model(ANSWERS)

        async def ask():
            await model.invoke(Context(), (), (), {})

        return make(ask)

    return MeasuredBar(0, "small", None, set_up)


async def idle():
    pass


ONCE = {"CannedModel.invoke": 1}


class TestGate:
    def test_admits_a_pair_that_does_what_it_says(self):
        bar = small(
            lambda ask: MeasuredPair(MeasuredSide(ask, ONCE), MeasuredSide(ask, ONCE))
        )

        asyncio.run(admit(bar))

    def test_refuses_a_subject_that_does_less(self):
        bar = small(
            lambda ask: MeasuredPair(MeasuredSide(ask, ONCE), MeasuredSide(idle, ONCE))
        )

        with pytest.raises(WorkDiffersError, match="small: the subject") as caught:
            asyncio.run(admit(bar))
        assert (caught.value.expected, caught.value.got) == (ONCE, {})

    def test_refuses_a_floor_that_does_less(self):
        bar = small(
            lambda ask: MeasuredPair(MeasuredSide(idle, ONCE), MeasuredSide(ask, ONCE))
        )

        with pytest.raises(WorkDiffersError, match="small: the floor"):
            asyncio.run(admit(bar))

    def test_refuses_a_side_that_does_more(self):
        async def twice(ask):
            await ask()
            await ask()

        bar = small(
            lambda ask: MeasuredPair(
                MeasuredSide(ask, ONCE), MeasuredSide(lambda: twice(ask), ONCE)
            )
        )

        with pytest.raises(WorkDiffersError, match=r"'CannedModel\.invoke': 2"):
            asyncio.run(admit(bar))

    def test_refuses_a_side_that_does_less_from_the_second_time_on(self):
        def cached(ask):
            seen = []

            async def work():
                if not seen:
                    seen.append(await ask())

            return MeasuredPair(MeasuredSide(ask, ONCE), MeasuredSide(work, ONCE))

        with pytest.raises(WorkDiffersError):
            asyncio.run(admit(small(cached)))

    def test_refuses_a_side_that_says_nothing(self):
        bar = small(
            lambda ask: MeasuredPair(MeasuredSide(idle), MeasuredSide(ask, ONCE))
        )

        with pytest.raises(WorkDiffersError):
            asyncio.run(admit(bar))

    def test_stands_before_the_measuring(self, clock):
        late = clock.side("late", 1.0)
        bar = small(
            lambda ask: MeasuredPair(
                MeasuredSide(ask, ONCE), MeasuredSide(late.work, ONCE)
            )
        )

        with pytest.raises(WorkDiffersError):
            asyncio.run(measured(bar, 2))
        assert len(clock.order) == 1


class TestKit:
    def test_counts_each_part_s_calls(self):
        tally = Counter()
        model = SharedParts(tally).model(ASKS, ANSWERS)

        async def ask_twice():
            return [await model.invoke(Context(), (), (), {}) for _ in range(2)]

        assert asyncio.run(ask_twice()) == [ASKS, ANSWERS]
        assert tally == {"CannedModel.invoke": 2}

    def test_leaves_parts_alone_that_are_measured(self):
        kit = SharedParts()

        assert vars(kit.tool()).keys() == {"info"}
        assert [vars(each).keys() for each in kit.handlers(Rewriter, 2)] == [
            {"name"},
            {"name"},
        ]


class TestBars:
    @pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.name)
    def test_both_sides_make_the_calls_they_say(self, bar):
        asyncio.run(admit(bar))

    @pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.name)
    def test_both_sides_make_the_same_calls(self, bar):
        """Of two sides that differ in size, both run the tool or the model once."""
        pair = asyncio.run(bar.set_up(SharedParts()))
        floor, subject = pair.floor.calls, pair.subject.calls
        if KEPT not in floor:
            subject = {name: n for name, n in subject.items() if name != KEPT}

        assert floor.keys() == subject.keys()
        assert min(floor.values()) == min(subject.values())
        if pair.floor.units == pair.subject.units:
            assert floor == subject

    def test_have_the_limits_of_the_issue(self):
        limited = {(bar.number, bar.limit) for bar in BARS if bar.limit is not None}

        assert limited == set(LIMITS.items())

    def test_have_names_of_their_own(self):
        assert len({bar.name for bar in BARS}) == len(BARS)

    def test_unused_handlers_that_are_used_are_refused(self):
        with pytest.raises(ChainNotEmptyError, match="before_model of 3"):
            asyncio.run(bars.unused_handlers(Rewriter, 3, SharedParts()))

    def test_unused_handlers_leave_no_chain(self):
        agent = asyncio.run(
            engine_runs.agent_of(CannedModel(ANSWERS), handlers=[Preparer(0)])
        )

        engine_runs.refuse_any_chain(agent)


@pytest.fixture
def measured_as(monkeypatch):
    """Let each bar come out at a fixed ratio, unmeasured."""

    def at(ratio):
        async def fixed(bar, rounds):
            assert rounds == 20
            return Ratio(bar.name, ratio, ratio, ratio, bar.limit, 1e-6, ratio * 1e-6)

        monkeypatch.setattr(command, "measured", fixed)

    return at


class TestCommand:
    def test_prints_a_row_a_bar_and_the_machine(self, measured_as, capsys):
        measured_as(1.0)

        assert command.main([]) == 0
        printed = capsys.readouterr().out
        assert [bar.name for bar in BARS if bar.name not in printed] == []
        assert platform.python_version() in printed

    def test_exits_1_and_says_so_if_a_limit_is_missed(self, measured_as, capsys):
        measured_as(7.0)

        assert command.main(["--only", "two model calls"]) == 0
        assert command.main(["--only", "pipeline"]) == 1
        assert capsys.readouterr().out.count("MISSED ≤ 1.5") == 2

    def test_writes_json(self, measured_as, tmp_path):
        measured_as(2.0)
        command.main(["--only", "two model calls", "--json", str(tmp_path / "x.json")])
        written = json.loads((tmp_path / "x.json").read_text("utf-8"))

        assert written["machine"] == machine.facts()
        [row] = written["ratios"]
        assert row["bar"] == 6
        assert row["ratio"] == 2.0
        assert row["holds"]

    def test_refuses_a_name_that_no_bar_has(self, capsys):
        with pytest.raises(SystemExit) as caught:
            command.main(["--only", "onoin"])

        assert caught.value.code == 2
        assert "no bar has 'onoin' in its name" in capsys.readouterr().err


class TestMachine:
    def test_is_told_without_its_name(self):
        assert list(machine.facts()) == ["cpu", "cores", "os", "python"]
        assert "/" not in machine.facts()["os"] + machine.facts()["python"]

    def test_processor_is_what_linux_calls_it(self, monkeypatch, tmp_path):
        told = tmp_path / "cpuinfo"
        told.write_text("model\t\t: 2\nmodel name\t: Mill 9: Turbo\n", "utf-8")
        monkeypatch.setattr(machine, "CPU_INFO", told)

        assert machine.facts()["cpu"] == "Mill 9: Turbo"

    @pytest.mark.parametrize("text", [None, "model : 2\n"])
    def test_processor_is_never_empty(self, monkeypatch, tmp_path, text):
        told = tmp_path / "cpuinfo"
        if text is not None:
            told.write_text(text, "utf-8")
        monkeypatch.setattr(machine, "CPU_INFO", told)

        assert machine.facts()["cpu"]


def test_reference_table_has_the_bars_of_today() -> None:
    text = README.read_text("utf-8")
    rows = re.findall(r"^\| +(\d) \| (.+?) +\|", text, re.MULTILINE)

    assert {(int(number), name) for number, name in rows} == {
        (bar.number, bar.name) for bar in BARS
    }
