"""All postures of ``adk-py-2`` are shown by worlds, or it is said why they are not."""

import pytest

from compat.dialects.flow.profile import FlowProfile
from refengine.postures import options_of
from tests.flow_postures import other_options, played, reference, shown_postures

TABLE = shown_postures()


def test_every_posture_stands_in_the_table() -> None:
    assert TABLE.keys() == options_of(FlowProfile).keys()


@pytest.mark.parametrize("posture", TABLE)
def test_the_worlds_of_a_posture_tell_its_options_apart(posture) -> None:
    entry = TABLE[posture]
    told: set[str] = set()
    for world in entry.worlds:
        ours = played(world, reference())
        apart = {
            option
            for option in other_options(posture)
            if played(world, reference(posture, option)) != ours
        }
        assert apart - told, "a world that shows nothing new"
        told |= apart

    assert told == other_options(posture) - entry.unshown.keys()


@pytest.mark.parametrize("posture", TABLE)
def test_an_option_that_is_not_shown_has_a_reason(posture) -> None:
    unshown = TABLE[posture].unshown

    assert unshown.keys() <= other_options(posture)
    assert all(unshown.values())
