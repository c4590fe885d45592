"""How cost grows: shapes and slopes of points whose law is known. No time here."""

from math import log
from random import Random

import pytest

from benchmarks.growing import fits_of, growth, line, simplest
from benchmarks.running import bars
from benchmarks.specs import Effort, Setting, SideSpec
from compat.verdicts.cost import SHAPES, Estimate, Fit, Growth, GrowthPoint

NS = (0, 1, 10, 30, 100, 300, 1_000, 3_000, 10_000)
LAWS = {
    "constant": lambda n: 5e-5,
    "linear": lambda n: 2e-5 + 3e-7 * n,
    "n log n": lambda n: 2e-5 + 4e-8 * n * (log(n) if n else 0),
    "quadratic": lambda n: 2e-5 + 3e-10 * n * n,
}
EFFORT = Effort(sets=3, rounds=1, seconds=0.001)


def times(shape, seed=0, noise=0.0, ns=NS):
    random = Random(seed)  # noqa: S311  # no secret
    return {n: LAWS[shape](n) * (1 + random.gauss(0, noise)) for n in ns}


class Scripted:
    """A measurer in whose child every side takes what a law says."""

    def __init__(self, law=LAWS["linear"], refused=(), wrong=None):
        self.law = law
        self.refused = refused
        self.wrong = wrong

    def ask(self, request):
        if self.wrong:
            return {"wrong": self.wrong}
        every = range(len(request["sides"]))
        places = [at for at in every if at not in self.refused]
        ns = [request["sides"][at]["setting"]["n"] for at in places]
        once = [tuple(self.law(n) for n in ns)]
        why = {str(at): ("RUN-004", "the tool ran 0 times") for at in self.refused}
        sets = request["effort"]["sets"] if places else 0
        return {"positions": places, "series": [once] * sets, "refused": why}


def sides(*ns, maker="engine"):
    return [SideSpec(maker, Setting("wrap_model_call", n=n)) for n in ns]


def grown(measurer, ours, bare=()):
    return growth(measurer, "a kind", ours, bare, EFFORT)


class TestShape:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("shape", SHAPES)
    def test_is_named_though_there_is_noise(self, shape, seed):
        assert simplest(fits_of(times(shape, seed, noise=0.02))) == shape

    @pytest.mark.parametrize("shape", SHAPES)
    def test_is_named_over_the_sizes_of_a_quick_run(self, shape):
        quick = times(shape, noise=0.01, ns=(0, 1, 10, 100, 1_000))

        assert simplest(fits_of(quick)) == shape

    @pytest.mark.parametrize("shape", SHAPES)
    def test_has_no_error_without_noise(self, shape):
        errors = {fit.shape: fit.error for fit in fits_of(times(shape))}

        assert errors[shape] == pytest.approx(0, abs=1e-6)

    def test_has_the_mean_relative_distance_as_its_error(self):
        [constant, *_] = fits_of({0: 1.0, 1: 1.0, 2: 3.0, 3: 3.0})
        # Laid through by relative least squares: 1.2, off by 0.2 twice, 0.6 twice.
        assert (constant.shape, constant.error) == ("constant", pytest.approx(0.4))

    def test_that_is_simpler_wins_if_it_fits_about_as_well(self):
        fits = [Fit(shape=shape, error=0.03) for shape in SHAPES]

        assert simplest(fits) == "constant"

    def test_that_fits_clearly_better_wins(self):
        errors = dict(zip(SHAPES, (2.0, 0.5, 0.1, 0.09), strict=True))
        fits = [Fit(shape=shape, error=error) for shape, error in errors.items()]

        assert simplest(fits) == "n log n"

    @pytest.mark.parametrize(
        ("low", "shape"), [(1e-9, "linear"), (0.0, "constant"), (-1e-9, "constant")]
    )
    def test_is_not_constant_where_the_slope_is_sure(self, low, shape):
        slope = Estimate(value=1e-8, low=low, high=1e-7)
        fits = [Fit(shape=shape, error=0.01) for shape in SHAPES]

        assert simplest(fits, slope) == shape


class TestLine:
    def test_knows_its_start_and_what_one_more_adds(self):
        assert line(times("linear")) == pytest.approx((2e-5, 3e-7))

    def test_never_falls(self):
        assert line({0: 3.0, 10: 2.0, 100: 1.0})[1] == 0


class TestGrowth:
    def test_has_points_a_slope_and_a_shape(self):
        found = grown(Scripted(), sides(0, 1, 10, 100), sides(0, 1, maker="bare"))

        assert found.shape == "linear"
        assert found.slope is not None
        assert found.slope.value == pytest.approx(3e-7)
        assert found.bare_slope is not None
        assert [point.n for point in found.points if point.bare_seconds] == [0, 1]
        assert found.blocked is None

    def test_has_no_slope_of_one_run_by_hand(self):
        found = grown(Scripted(), sides(0, 1, 10, 100), sides(0, maker="bare"))

        assert found.bare_slope is None

    def test_counts_what_it_is_told_to_count(self):
        ours = [SideSpec("subject", Setting("x"), copies=n) for n in (1, 2, 5, 10)]
        found = growth(Scripted(), "copies", ours, (), EFFORT, lambda side: side.copies)

        assert [point.n for point in found.points] == [1, 2, 5, 10]

    def test_with_refused_points_is_measured_and_says_why_they_are_not(self):
        found = grown(Scripted(refused=[4]), sides(0, 1, 10, 100, 1_000))

        assert found.shape == "linear"
        assert found.blocked is not None
        assert found.blocked.clause == "RUN-004"

    @pytest.mark.parametrize("ns", [(), (5,), (0, 1, 10), (7, 7, 7, 7)])
    def test_of_too_few_points_is_blocked(self, ns):
        found = grown(Scripted(), sides(*ns))

        assert (found.points, found.slope, found.shape) == ((), None, None)
        assert found.blocked is not None
        assert found.blocked.why == "4 points make a shape"

    def test_of_refused_points_is_blocked_by_their_clause(self):
        found = grown(Scripted(refused=range(4)), sides(0, 1, 10, 100))

        assert found.blocked is not None
        assert found.blocked.clause == "RUN-004"

    def test_that_could_not_be_measured_says_why(self):
        found = grown(Scripted(wrong="it is cold"), sides(0, 1, 10, 100))

        assert found.blocked is not None
        assert found.blocked.why == "it is cold"


class TestBarOfGrowth:
    def bar(self, seconds):
        points = tuple(GrowthPoint(n=n, seconds=took) for n, took in seconds.items())
        grown = Growth(name="a kind", points=points, slope=None)
        return next(each for each in bars((), (grown,), ()) if "exponent" in each.name)

    def test_is_1_for_a_line(self):
        bar = self.bar(times("linear"))

        assert (bar.ratio, bar.holds) == (pytest.approx(1), True)

    def test_is_2_for_a_square(self):
        bar = self.bar(times("quadratic"))

        assert (bar.ratio, bar.holds) == (pytest.approx(2), False)

    def test_is_not_measured_by_a_quick_run(self):
        bar = self.bar(times("linear", ns=(0, 1, 1_000)))

        assert (bar.ratio, bar.holds) == (None, None)

    def test_is_not_measured_where_handlers_cost_nothing_that_was_seen(self):
        bar = self.bar({0: 2.0, 1_000: 2.0, 10_000: 1.9})

        assert (bar.ratio, bar.holds) == (None, None)
