"""Worlds that are cancelled at any moment are left closed, whole and said to be so."""

from hypothesis import given
from hypothesis import strategies as st

from refengine.profile import profile
from refengine.testing import Scenario
from refengine.testing.strategies import scenarios
from tests.properties.cancelled import Moment, broken_laws, cut
from tests.properties.support import counted, noted, searching, under_every_profile

MOMENTS = st.builds(
    Moment,
    st.integers(0, 200),  # most worlds have fewer, and go round
    st.sampled_from((0, 0, 1, 2, 3)),
    *[st.booleans()] * 3,
)
WORLDS = scenarios(failures=True, unknown_calls=True, counting=True, max_runs=1)


@under_every_profile
@searching(30)
@given(WORLDS, MOMENTS)
def test_a_world_cancelled_at_any_moment_keeps_the_laws(
    under: str, scenario: Scenario, moment: Moment
) -> None:
    made = cut(scenario, profile(under), moment)

    noted(scenario, under, str(moment))
    counted("cancelled" if made is not None and made.stopped else "no moment")
    if made is not None and made.stopped:
        assert broken_laws(made) == []
