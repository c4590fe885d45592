"""Checks of two trees in turn: what is said of them."""

from benchmarks.checks import TimedCheck, told


def test_rate_and_ratio_are_those_of_the_pairs() -> None:
    rounds = [
        [TimedCheck(4.0, 200), TimedCheck(1.0, 200)],
        [TimedCheck(8.0, 200), TimedCheck(4.0, 200)],
        [TimedCheck(4.0, 200), TimedCheck(1.0, 200)],
    ]

    assert told("HEAD~1", rounds) == [
        "HEAD~1: 4.00 s a check, 50 worlds a second",
        "here: 1.00 s a check, 200 worlds a second",
        "here takes 0.25 of the time (0.25 to 0.50, 3 pairs)",
    ]


def test_one_pair_is_its_own_middle() -> None:
    (*_, last) = told("HEAD", [[TimedCheck(2.0, 10), TimedCheck(1.0, 10)]])

    assert last == "here takes 0.50 of the time (0.50 to 0.50, 1 pairs)"
