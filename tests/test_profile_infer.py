"""Which profile an engine has is found from what it does, and told."""

import asyncio
import json
from itertools import cycle, repeat

import pytest

from compat.cli.main import main
from compat.engines.capabilities import CAPABILITIES, CapabilityError
from compat.engines.loading import LoadedEngine, load_engine
from compat.engines.reference import ReferenceDoor
from compat.profiles.comparing import unconfirmed
from compat.verdicts.exit_codes import DIFFERS, OK, USAGE
from property_tests.inferring import Inferred, infer
from property_tests.real_delays import TIMES, both_orders
from refengine.profile import PROFILES, SEED_001, choosing, options
from refengine.testing import doors
from refengine.testing.clock import VirtualLoop
from refengine.testing.scenario import AgentSpec
from refengine.testing.scenario_files import read_scenario

ALL = frozenset(CAPABILITIES)
DELAYS = (("t", 20), ("u", 10))


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as left:
        main(["profile", "infer", "--repeats", "1", *arguments])
    return left.value.code


def found(engine, *assumed: str, profile=SEED_001, repeats=0) -> Inferred:
    return infer(LoadedEngine("mine", engine, profile, ALL, assumed=assumed), repeats)


NOWHERE = {"langchain4j-1": {"answer", "direct_event"}}
"""What shows nowhere beside a profile's other options: where all calls of a message
have to be direct, and an unknown tool ends the run, a direct call is the last one."""


@pytest.mark.parametrize("under", PROFILES, ids=lambda each: each.name)
def test_every_posture_of_a_profile_is_found_on_the_reference_engine(under) -> None:
    seen = found(ReferenceDoor(under), "profile")

    hidden = NOWHERE.get(under.name, ())
    own = {x: None if x in hidden else getattr(under, x) for x in options()}
    assert {each.name: each.option for each in seen.postures} == own
    assert seen.nearest == under
    assert seen.declared is None
    assert not seen.contradicts


CHANGED = [(name, every[-1]) for name, every in options().items()][::5]
"""Some of all: each takes a second, and the profiles above have every option."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("posture", "option"), CHANGED)
def test_one_changed_posture_is_found_whichever_it_is(posture, option) -> None:
    seen = found(ReferenceDoor(choosing(SEED_001, posture, option)))
    differs = [each.name for each in seen.differing(SEED_001)]

    assert {each.name: each.option for each in seen.postures}[posture] == option
    assert differs == ([] if option == getattr(SEED_001, posture) else [posture])
    assert seen.contradicts == bool(differs)


FRAMEWORKS = ("langchain", "langgraph", "openai-agents", "pydantic-ai", "strands")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_frameworks_show_what_was_confirmed_and_no_more(name) -> None:
    loaded = load_engine(name)
    seen = infer(loaded, 1)
    shown = {each.name for each in seen.postures if each.option is not None}
    listed = set(unconfirmed()[loaded.profile.name])

    assert shown <= set(options()) - listed
    # what tells these from others needs what their engines do not do, or not declare
    beyond = {
        "langgraph": {"after_hooks"},
        "openai-agents": {"answer"},
        "pydantic-ai": {"changed_call_id"},
        "strands": {"failing_call"},
    }
    assert set(options()) - listed - shown == beyond.get(name, set())
    assert seen.nearest == loaded.profile
    assert not seen.contradicts


def test_what_is_not_declared_is_not_shown_and_says_what_is_missing() -> None:
    seen = infer(load_engine("reference-legacy"), 0)
    reasons = {each.name: each.reason for each in seen.postures if not each.option}

    assert reasons["before_agent"] == (
        "its scenario needs 'before_agent', which is not declared"
    )
    assert reasons["null_tools"] == (
        "its scenario needs 'edited_config', which is not declared"
    )
    assert "changed_call_id" not in reasons
    assert not seen.contradicts


class Other:
    """Runs after-hooks backwards, but not where there are struct middlewares."""

    name = "other"

    async def build(self, config, on_notice):
        option = "in_order" if config.middlewares else "reversed"
        engine = ReferenceDoor(choosing(SEED_001, "after_hooks", option))
        return await engine.build(config, on_notice)


def test_scenarios_that_show_different_options_contradict_each_other() -> None:
    seen = found(Other(), "profile")
    [posture] = [each for each in seen.postures if each.name == "after_hooks"]

    assert posture.status == "contradicts itself"
    assert posture.reason == ("scenario 1 shows reversed, scenario 2 shows in_order")
    assert seen.contradicts


class Late(ReferenceDoor):
    """Tells events as calls finish where time is real, else in their order."""

    def __init__(self, orders) -> None:
        super().__init__(SEED_001)
        self.orders = orders

    async def build(self, config, on_notice):
        is_real = not isinstance(asyncio.get_running_loop(), VirtualLoop)
        order = next(self.orders) if is_real else "call_order"
        engine = ReferenceDoor(choosing(SEED_001, "tool_events", order))
        return await engine.build(config, on_notice)


def tool_events(orders):
    seen = found(Late(orders), "profile", repeats=2)
    return {each.name: each for each in seen.postures}["tool_events"], seen


def test_real_delays_show_an_order_that_virtual_time_hides() -> None:
    posture, seen = tool_events(repeat("as_finished"))

    assert posture.option == "as_finished"
    assert posture.reason == "with real delays; without them call_order"
    assert not seen.contradicts


def test_an_order_that_is_not_the_same_each_time_is_told_as_luck() -> None:
    posture, seen = tool_events(cycle(["as_finished", "call_order"]))

    assert (posture.status, posture.options) == ("by luck", ())
    assert posture.reason == (
        "scenario 1: as_finished 1 of 2 times, call_order 1 of 2 times"
    )
    assert seen.contradicts


def test_what_fits_no_option_with_real_delays_is_told() -> None:
    posture, _ = tool_events(repeat("nothing"))

    assert (posture.status, posture.options) == ("not shown", ())
    assert posture.reason == (
        "it does as under no option with real delays, without them as call_order"
    )


class OneCall(ReferenceDoor):
    """Has at most one tool that ends a run: a scenario of direct_event has two."""

    async def build(self, config, on_notice):
        if len(config.tools_config.return_directly) > 1:
            raise CapabilityError("mine", "return_directly", "two of them")
        return await super().build(config, on_notice)


def test_what_an_engine_refuses_is_not_asked_with_real_delays() -> None:
    seen = found(OneCall(SEED_001), "profile", repeats=1)
    posture = {each.name: each for each in seen.postures}["direct_event"]

    assert posture.option == "call_order"
    assert [each.refused for each in posture.evidence] == [False, True]


def test_both_orders_of_delays_are_played_where_calls_take_different_times() -> None:
    tools = [{"name": n, "result": "r", "delay_ms": ms} for n, ms in DELAYS]
    world = read_scenario({"agent": {"tools": tools}, "runs": [{"input": ["user:a"]}]})

    agents = [each.agent for each in both_orders(world)]
    found = [[tool.delay_ms for tool in each.tools] for each in agents if each]

    assert found == [[TIMES * 20, TIMES * 10], [TIMES * 10, TIMES * 20]]
    assert both_orders(world.model_copy(update={"agent": AgentSpec()})) == []


class Raises:
    name = "raises"

    async def build(self, config, on_notice):
        raise ValueError("no")

    def run(self):
        raise NotImplementedError


class SlippingAgent:
    """Runs end with a name that its author forgot to import."""

    name = "slips"

    async def run(self, *_: object, **__: object):
        raise NameError("name 'asnycio' is not defined")
        yield


class Slips(ReferenceDoor):
    """Builds agents that slip."""

    async def build(self, config, on_notice):
        return doors.door_agent(config.name, SlippingAgent().run)


def test_a_slip_in_an_engines_code_is_no_evidence_of_a_posture() -> None:
    seen = found(Slips(SEED_001))
    unknown = {each.name: each for each in seen.postures}["unknown_tool"]

    assert unknown.option is None
    assert "a mistake in the engine's own code" in unknown.reason


def test_an_engine_that_builds_nothing_shows_only_what_it_refuses() -> None:
    seen = found(Raises(), "profile")
    shown = {each.name for each in seen.postures if each.option is not None}

    assert shown <= {
        "same_handler_twice",
        "equal_handler_names",
        "iterations_below_one",
    }
    reasons = [each.reason for each in seen.postures if each.option is None]
    assert any("it does as under no option" in each for each in reasons)


def test_the_command_tells_every_posture_and_both_profiles(capsys) -> None:
    assert run("reference-legacy") == OK

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(options())]] == list(options())
    assert "reference-legacy shows 28 of 43 postures" in lines
    assert "nearest profile: eino-0.7, nothing that it shows differs" in lines
    assert "declared profile: eino-0.7, nothing that it shows differs" in lines


ENGINE = """
import sys
from compat.engines.reference import ReferenceDoor
from refengine.profile import SEED_001, choosing

class Mine(ReferenceDoor):
    name = "mine"
    profile = "seed-001"

    def __init__(self):
        pass

    async def build(self, config, on_notice):
        print("chatter")
        inner = ReferenceDoor(choosing(SEED_001, "route", "model_response"))
        return await inner.build(config, on_notice)
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "infer_mine.py").write_text(ENGINE, "utf-8")
    return "infer_mine.py:Mine"


def test_a_profile_that_an_engine_contradicts_is_told_and_is_exit_code_1(
    mine, capsys
) -> None:
    assert run(mine) == DIFFERS

    out = capsys.readouterr().out
    assert "declared profile: seed-001, differs in 1" in out
    assert "  route: model_response, there last_left" in out
    assert "chatter" not in out


def test_the_same_as_json(mine, capsys) -> None:
    assert run(mine, "--as-json") == DIFFERS

    told = json.loads(capsys.readouterr().out)
    assert told["declared"] == told["nearest"] == "seed-001"
    assert told["contradicts_declared"] == ["route"]
    [route] = [each for each in told["postures"] if each["posture"] == "route"]
    assert route == {
        "posture": "route",
        "status": "shown",
        "option": "model_response",
        "fits": ["model_response"],
        "reason": "",
    }


def test_a_text_that_names_no_engine_is_told_without_a_traceback(capsys) -> None:
    assert run("referense") == USAGE
    assert "refengine profile infer: no engine 'referense'" in capsys.readouterr().err
