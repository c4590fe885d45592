"""The reference run: what pages show of it, and that it measured what it says."""

from pathlib import Path

import pytest

from benchmarks.comparing import read
from benchmarks.defaults import PEERS
from benchmarks.kinds import KINDS
from compat.verdicts.cost import Costs
from tools.costs.reference import (
    NUMBERS,
    PERFORMANCE,
    README,
    shown,
)
from tools.pages.blocks import NoPlaceError, between


@pytest.fixture(scope="module")
def costs() -> Costs:
    """Give the numbers of the reference run."""
    return read(NUMBERS)


@pytest.mark.parametrize("page", [README, PERFORMANCE], ids=lambda page: page.name)
def test_a_page_shows_the_numbers_that_are_kept(page: Path, costs: Costs):
    text = page.read_text("utf-8")
    assert shown(text, costs) == text


SINCE = {"flow"}
"""Peers that came after the reference run; the next one has them."""


def test_it_is_a_whole_run_of_every_peer_with_nothing_blocked(costs):
    assert not costs.header.quick
    assert {each.peer for each in costs.peers} == set(PEERS) - SINCE
    assert costs.absent == ()
    rows = (*costs.costs, *costs.growth, *costs.peers)
    assert [each for each in rows if each.blocked] == []


def test_it_has_every_hook_up_to_10_000_handlers(costs):
    assert {each.name for each in costs.growth} == set(KINDS)
    assert all(each.points[-1].n == 10_000 for each in costs.growth)


def test_its_machine_is_told_and_has_no_name(costs):
    assert set(costs.header.machine) == {"cpu", "cores", "os", "python"}


def test_every_bar_was_measured_and_one_that_is_missed_is_stated(costs):
    assert all(bar.holds is not None for bar in costs.bars)
    stated = PERFORMANCE.read_text("utf-8")
    missed = [bar.name for bar in costs.bars if not bar.holds]
    assert [name for name in missed if f"**{name}**" not in stated] == []


def test_a_page_without_a_place_is_refused(costs):
    with pytest.raises(NoPlaceError, match="hooks and runs"):
        shown("no place", costs)
    with pytest.raises(NoPlaceError, match="bars"):
        between("no place", "bars", "text")
