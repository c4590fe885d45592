"""Intervals and what they tell apart, on samples whose truth is known. No time here."""

from math import exp
from random import Random

import pytest

from benchmarks.rows import band, hook_costs
from benchmarks.statistics import (
    SETS,
    TooFewSetUpsError,
    change,
    difference,
    interval,
    medians,
    over_set_ups,
    ratio,
    seconds,
)
from compat.verdicts.cost import CostNoise, Estimate

SET_UP = 0.02
"""Where objects lie in memory makes a set-up slower or faster by about so much."""
ROUND = 0.01
"""And so much more each round is off."""


def seeded(seed):
    """Return numbers that are the same in every run."""
    return Random(seed)  # noqa: S311  # and no secret


def series(random, costs, sets=5, rounds=5, set_up=SET_UP):
    """Return the series of sides that cost so much, as a machine might have shown."""
    made = []
    for _ in range(sets):
        here = [cost * exp(random.gauss(0, set_up)) for cost in costs]
        made.append(
            [
                tuple(cost * exp(random.gauss(0, ROUND)) for cost in here)
                for _ in range(rounds)
            ]
        )
    return made


def told(random, slower, comparisons, set_up=SET_UP):
    """Return how often a side that is so much slower is told so, by a run's method."""
    widest = max(
        (ratio(series(random, (1, 1), set_up=set_up), 1, 0) for _ in range(4)),
        key=band,
    )
    limit = CostNoise(ratio=widest, band=band(widest)).band
    pairs = [
        ratio(series(random, (1, slower), set_up=set_up), 1, 0)
        for _ in range(comparisons)
    ]
    return [change(found, limit) for found in pairs]


def about(value, low, high):
    return Estimate(value=value, low=low, high=high)


class TestInterval:
    @pytest.mark.parametrize("sets", [SETS, 5, 8])
    def test_covers_the_truth_in_99_of_100_samples(self, sets):
        random = seeded(6)
        found = [
            interval([random.gauss(7, 2) for _ in range(sets)]) for _ in range(1000)
        ]
        covered = sum(each.low <= 7 <= each.high for each in found)

        assert 970 <= covered <= 999  # all of them would be not an interval of 99 %

    def test_of_a_ratio_covers_it_though_set_ups_differ(self):
        random = seeded(60)
        found = [ratio(series(random, (3.0, 4.5)), 1, 0) for _ in range(1000)]
        covered = sum(each.low <= 1.5 <= each.high for each in found)

        assert covered >= 970

    def test_of_a_difference_covers_it_though_set_ups_differ(self):
        random = seeded(61)
        found = [difference(series(random, (3.0, 4.5)), 1, 0) for _ in range(1000)]
        covered = sum(each.low <= 1.5 <= each.high for each in found)

        assert covered >= 970

    def test_is_the_mean_alone_where_all_are_equal(self):
        assert interval([4.0, 4.0, 4.0]) == about(4.0, 4.0, 4.0)

    @pytest.mark.parametrize("few", range(SETS))
    def test_of_too_few_set_ups_is_an_error(self, few):
        with pytest.raises(TooFewSetUpsError, match=f"{few} set-ups .*{SETS} at least"):
            interval([1.0] * few)

    def test_knows_set_ups_not_rounds(self):
        many_rounds = series(seeded(1), (1, 1), sets=2, rounds=500)

        with pytest.raises(TooFewSetUpsError, match="2 set-ups"):
            ratio(many_rounds, 1, 0)


class TestKnownSamples:
    SERIES = ([(1.0, 3.0), (2.0, 6.0), (9.0, 30.0)],) * 3

    def test_have_the_median_ratio_of_a_round(self):
        assert ratio(self.SERIES, 1, 0).value == pytest.approx(3.0)

    def test_have_the_other_ratio_the_other_way_round(self):
        assert ratio(self.SERIES, 0, 1).value == pytest.approx(1 / 3)

    def test_have_the_median_difference_of_a_round(self):
        assert difference(self.SERIES, 1, 0) == about(4.0, 4.0, 4.0)

    def test_have_the_median_seconds_of_a_side(self):
        assert (seconds(self.SERIES, 0), seconds(self.SERIES, 1)) == (2.0, 6.0)

    def test_have_medians_of_every_side(self):
        assert medians(self.SERIES[0]) == (2.0, 6.0)

    def test_are_averaged_over_set_ups_as_ratios_are(self):
        # 2 and 1/2 are equally far from 1.
        found = ratio([[(1, 1)], [(1, 2)], [(2, 1)]], 1, 0)

        assert found.value == pytest.approx(1.0)

    def test_give_an_estimate_of_what_is_computed_from_them(self):
        assert over_set_ups(self.SERIES, sum) == about(8.0, 8.0, 8.0)


class TestChange:
    @pytest.mark.parametrize(
        ("found", "verdict"),
        [
            (about(1.2, 1.1, 1.3), "dearer"),
            (about(0.8, 0.7, 0.9), "cheaper"),
            (about(1.2, 0.9, 1.5), "not distinguishable"),
            (about(0.8, 0.5, 1.1), "not distinguishable"),
            (about(1.04, 1.03, 1.05), "not distinguishable"),
            (about(0.96, 0.95, 0.97), "not distinguishable"),
            (about(1.0, 1.0, 1.0), "not distinguishable"),
        ],
    )
    def test_needs_the_interval_and_the_noise_to_be_passed(self, found, verdict):
        assert change(found, 0.05) == verdict

    def test_without_noise_needs_the_interval_only(self):
        assert change(about(1.04, 1.03, 1.05), 0.0) == "dearer"


class TestEqualSides:
    @pytest.mark.parametrize("seed", range(5))
    def test_are_told_apart_in_at_most_5_of_100_comparisons(self, seed):
        found = told(seeded(seed), 1.0, 100)

        assert sum(each != "not distinguishable" for each in found) <= 5

    def test_that_differ_by_5_percent_are_told_where_noise_is_small(self):
        found = told(seeded(5), 1.05, 100, set_up=0.003)

        assert found.count("dearer") >= 95

    def test_that_are_5_percent_cheaper_are_told_as_such(self):
        found = told(seeded(5), 1 / 1.05, 100, set_up=0.003)

        assert found.count("cheaper") >= 95

    def test_make_a_band_as_wide_as_they_are_apart(self):
        assert band(about(0.9, 0.85, 0.95)) == pytest.approx(0.1)

    def test_make_a_band_of_half_their_interval_at_least(self):
        assert band(about(1.0, 0.9, 1.1)) == pytest.approx(0.05)


class TestHooksByThemselves:
    """Rows of what probes saw: ten hundredths of a second for nothing."""

    NOTHING = ({"pipeline": 0.1, "onion": 0.2, "plain": 0.05},) * 3

    def costs(self, *hooks):
        return hook_costs({"hooks": hooks, "nothing": self.NOTHING})

    def test_take_what_is_more_than_one_that_does_nothing_of_their_kind(self):
        hooks = [[each, each, each, [[1, 1.0]] * 3] for each in self.NOTHING[0]]
        rows, _ = self.costs(*hooks)
        own = {row.hook: round(row.seconds.value, 9) for row in rows}

        assert own == {"pipeline": 0.9, "onion": 0.8, "plain": 0.95}

    def test_have_shares_of_all_by_their_calls(self):
        rows, _ = self.costs(
            ["a", "once", "pipeline", [[1, 1.1]] * 3],
            ["b", "thrice", "pipeline", [[3, 9.3]] * 3],
        )

        assert [(row.hook, round(row.share, 9)) for row in rows] == [
            ("thrice", 0.9),
            ("once", 0.1),
        ]

    def test_that_take_no_more_are_not_told_apart(self):
        rows, _ = self.costs(["a", "hook", "plain", [[1, 0.05]] * 3])

        assert [row.change for row in rows] == ["not distinguishable"]

    def test_that_take_clearly_more_are_dearer(self):
        rows, _ = self.costs(["a", "hook", "plain", [[1, 0.1]] * 3])

        assert [row.change for row in rows] == ["dearer"]

    def test_that_never_ran_have_no_row(self):
        rows, never = self.costs(["a", "hook", "plain", [[0, 0.0]] * 3])

        assert (rows, never) == ((), ("a hook",))

    def test_that_did_not_run_in_every_set_up_have_no_row(self):
        clocks = [[1, 0.1], [0, 0.0], [1, 0.1]]
        rows, never = self.costs(["a", "hook", "plain", clocks])

        assert (rows, never) == ((), ("a hook",))

    def test_that_run_now_and_then_have_the_time_of_a_call(self):
        [row], _ = self.costs(["a", "hook", "plain", [[0.1, 0.105]] * 3])

        assert (row.calls, round(row.seconds.value, 9), row.share) == (1, 1.0, 1.0)
