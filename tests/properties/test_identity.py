"""A handler that passes everything through changes nothing, wherever it stands."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refengine.profile import PROFILES, Profile
from refengine.testing import Scenario, Trace, first_divergence
from refengine.testing.scenario import AgentSpec, HandlerSpec
from refengine.testing.strategies import scenarios, with_identity
from refengine.testing.strategies.variants import IDENTITY
from tests.properties.support import (
    Entry,
    data_without,
    entries,
    played,
    searching,
)


@st.composite
def with_and_without(draw: st.DrawFn, **choices: Any) -> tuple[Scenario, Scenario]:
    """Draw a world, and the same one with one or two identity handlers in it."""
    scenario = more = draw(scenarios(failures=True, unknown_calls=True, **choices))
    for _ in range(draw(st.integers(1, 2))):
        size = len(agent_of(more).handlers)
        more = with_identity(more, draw(st.integers(0, size)))
    return scenario, more


def agent_of(scenario: Scenario) -> AgentSpec:
    [agent] = scenario.all_agents
    return agent


def others(trace: Trace, scenario: Scenario) -> list[Entry]:
    """Return what is seen of everybody but the identity handler.

    Positions count through the list, so it moves those after it. And a first handler
    beside struct middlewares is warned about where a profile does so (both_lists).
    """
    agent = agent_of(scenario)
    lonely = bool(agent.middlewares) and not agent.handlers
    return [
        data_without(entry, "position")
        for entry in entries(trace)
        if not str(entry["data"].get("extension", "")).startswith(IDENTITY.id)
        and not (lonely and entry["kind"] == "warning")
    ]


def free(profile: Profile) -> bool:
    """Tell whether a handler that does nothing has a right to change nothing.

    Where a graph is drawn anew for each hook, that there is one can be seen: the limit
    of steps ends otherwise, an agent without tools loops, equal names are refused.
    """
    return (
        profile.exhaustion != "apology"
        and profile.without_tools != "loop_if_wrapped"
        and profile.equal_handler_names == "numbered"
    )


FREE = [each for each in PROFILES if free(each)]


def test_a_handler_is_free_under_all_profiles_but_those_of_graphs() -> None:
    assert {each.name for each in PROFILES if not free(each)} == {
        "langchain-1",
        "langchain-js-1",
        "langgraph-prebuilt-1",
        "strands-1",
    }


@pytest.mark.parametrize("under", [each.name for each in FREE])
@searching(40)
@given(with_and_without())
def test_an_identity_handler_anywhere_changes_nothing(
    under: str, worlds: tuple[Scenario, Scenario]
) -> None:
    without, with_ = worlds
    before, after = (others(played(s, under), without) for s in worlds)

    assert first_divergence(after, before) is None
    assert with_ != without


# eino 0.8 and 0.9 call the factories of struct middlewares for every turn as soon as
# there is a handler (wrapper_factory=per_run), so who counts his calls sees it come.
@pytest.mark.parametrize(
    "under", [each.name for each in FREE if each.wrapper_factory != "per_run"]
)
@searching(40)
@given(with_and_without(counting=True))
def test_nor_for_extensions_that_count(
    under: str, worlds: tuple[Scenario, Scenario]
) -> None:
    before, after = (others(played(s, under), worlds[0]) for s in worlds)

    assert first_divergence(after, before) is None


def test_handlers_that_name_another_one_still_name_it() -> None:
    agent = AgentSpec(
        handlers=(HandlerSpec(id="a", before_model=()), HandlerSpec(same_as=0))
    )
    scenario = Scenario.model_validate({"agent": agent, "runs": ({"input": ()},)})
    first, last = (agent_of(with_identity(scenario, at)).handlers for at in (0, 2))

    assert [each.same_as for each in first] == [None, None, 1]
    assert [each.same_as for each in last] == [None, 0, None]


@pytest.mark.parametrize("position", [-1, 1])
def test_there_is_no_place_outside_the_list(position: int) -> None:
    scenario = Scenario.model_validate({"agent": {}, "runs": ({"input": ()},)})

    with pytest.raises(IndexError, match=f"position {position} of 0 handlers"):
        with_identity(scenario, position)
