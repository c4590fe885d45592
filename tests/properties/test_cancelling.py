"""Worlds that are cancelled at any moment are left closed, whole and said to be so."""

import pytest
from hypothesis import given

from refengine.profile import profile
from refengine.testing import Scenario
from tests.properties.support import counted, noted, searching, under_every_profile
from tools.cancelling.search import main, moments, worlds
from tools.cancelling.session import Moment, broken_laws, cut


@under_every_profile
@searching(30)
@given(worlds(), moments())
def test_a_world_cancelled_at_any_moment_keeps_the_laws(
    under: str, scenario: Scenario, moment: Moment
) -> None:
    made = cut(scenario, profile(under), moment)

    noted(scenario, under, str(moment))
    counted("cancelled" if made is not None and made.stopped else "no moment")
    if made is not None and made.stopped:
        assert broken_laws(made) == []


def test_the_long_search_tells_what_it_looked_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--worlds", "3", "--profile", "seed-001"]) == 0
    assert "3 worlds" in capsys.readouterr().out
