"""The decisions that show where profiles of the Flow dialect differ."""

from itertools import combinations, product

import pytest

from compat.dialects.flow.profile import FLOW_PROFILES, FlowProfile, flow_profile
from compat.observe.flow.deciding import DECIDING
from compat.profiles.small_worlds import decided_text, decisions, flow_differences
from refengine.postures import choosing, differences, options_of


def test_decisions_are_of_postures_and_of_kinds_that_are_decided() -> None:
    kinds = {each["kind"] for known in decisions().values() for each in known}

    assert decisions().keys() <= options_of(FlowProfile).keys()
    assert kinds <= DECIDING.keys()


@pytest.mark.parametrize("posture", decisions())
@pytest.mark.parametrize("profile", FLOW_PROFILES, ids=lambda each: each.name)
def test_the_decisions_of_a_posture_tell_its_options_apart(profile, posture) -> None:
    shown = {
        option: [
            decided_text(each, choosing(profile, posture, option))
            for each in decisions()[posture]
        ]
        for option in options_of(FlowProfile)[posture]
    }

    for one, other in combinations(shown, 2):
        assert shown[one] != shown[other], (one, other)


def test_no_decision_is_idle() -> None:
    told = {
        (posture, at)
        for base, posture in product(FLOW_PROFILES, decisions())
        for at, each in enumerate(decisions()[posture])
        for option in options_of(FlowProfile)[posture]
        if decided_text(each, base)
        != decided_text(each, choosing(base, posture, option))
    }

    assert told == {
        (posture, at)
        for posture, known in decisions().items()
        for at in range(len(known))
    }


@pytest.mark.parametrize(("a", "b"), list(combinations(FLOW_PROFILES, 2)))
def test_every_difference_is_told_and_shown_where_a_decision_shows_it(a, b) -> None:
    found = list(flow_differences(a, b))

    assert [each.posture for each in found] == [
        name for name, _, _ in differences(a, b)
    ]
    assert {each.posture for each in found if each.shown} == {
        each.posture for each in found
    } & decisions().keys()


def test_a_decision_that_ends_in_an_error_shows_it() -> None:
    [decision] = decisions()["orphan_response"]

    assert decided_text(decision, flow_profile("adk-go-0.4")).startswith(
        "NoCallFoundError: no function call event found"
    )
