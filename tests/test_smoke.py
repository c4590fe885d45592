"""The first stage of conformance: what is the door's fault is told as the door's."""

import sys
from dataclasses import replace
from typing import Any

import pytest

from compat.engines.capabilities import CAPABILITIES, Refusing
from compat.engines.loading import LoadedEngine, load_engine
from compat.engines.reference import ReferenceDoor
from property_tests.probe_worlds import WORLDS
from property_tests.probing import probe
from property_tests.shapes import event_faults, message_faults, outcome_faults
from property_tests.smoke import HOOKS, smoke
from refengine.events import AgentEvent
from refengine.messages import History, Message, ToolCall
from refengine.profile import PROFILES, SEED_001
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.testing.doors import run_context
from refengine.testing.scripted import ScriptedError
from refengine.tools import ToolsConfig

INSTALLED = [
    "reference",
    "reference-adapted",
    "reference-legacy",
    "langchain",
    "langgraph",
    "openai-agents",
    "pydantic-ai",
    "strands",
]
CHECKS = ["builds", "answers", "tools", "hooks", "canary", "types"]
ALL = frozenset(CAPABILITIES)


class Broken:
    """A door to the reference engine that changes what goes through it.

    ``given`` changes the configuration; ``told`` an event, None drops it; ``over`` the
    outcome.
    """

    name = "broken"

    def __init__(self, given=None, told=None, over=None) -> None:
        self._given = given or (lambda config: config)
        self._told = told or (lambda event: event)
        self._over = over or (lambda outcome: outcome)

    async def build(self, config, on_notice):
        inner = await ReferenceDoor().build(self._given(config), on_notice)
        return _Agent(inner, self._told, self._over)


class _Agent:
    def __init__(self, inner, told, over) -> None:
        self._inner, self._told, self._over = inner, told, over

    def run(self, messages, stream, *, options=None):
        more = {"options": options} if options else {}
        return _Run(self._inner.run(messages, stream, **more), self._told, self._over)


class _Run:
    def __init__(self, inner, told, over) -> None:
        self._inner, self._told, self._over = inner, told, over

    @property
    def outcome(self):
        found = self._inner.outcome
        return None if found is None else self._over(found)

    async def __aenter__(self):
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self._inner.__aexit__(*error)

    async def __aiter__(self):
        async for event in self._inner:
            told = self._told(event)
            if told is not None:
                yield told


def loaded(engine: Any, *capabilities: str) -> LoadedEngine:
    return LoadedEngine("broken", engine, SEED_001, frozenset(capabilities) or ALL)


def failing(engine: Any, *capabilities: str) -> dict[str, str]:
    """Return what each failed check saw."""
    results = smoke(loaded(engine, *capabilities))
    assert [each.name for each in results] == CHECKS
    return {each.name: each.got for each in results if not each.passed}


@pytest.mark.parametrize("name", INSTALLED)
def test_the_doors_of_the_project_work(name) -> None:
    results = smoke(load_engine(name))

    assert [each.name for each in results] == CHECKS
    assert [each.got for each in results if not each.passed] == []
    assert {each.engine for each in results} == {name}
    assert all(each.asked for each in results)


@pytest.mark.parametrize("under", [each.name for each in PROFILES])
def test_a_door_works_under_any_profile(under) -> None:
    results = smoke(load_engine("reference", under))

    assert all(each.passed for each in results)


@pytest.mark.parametrize("capability", HOOKS)
def test_any_one_hook_is_enough_to_show_that_hooks_are_wired(capability) -> None:
    assert failing(ReferenceDoor(), capability) == {}


def test_a_door_that_refuses_a_plain_agent_is_told_why() -> None:
    def refuse(config):
        raise ValueError("no key for the service")

    seen = failing(Broken(given=refuse))
    assert seen["builds"].startswith(
        "it was refused: ValueError: no key for the service"
    )


def test_a_door_with_its_own_model_is_wrong() -> None:
    class Own:
        async def invoke(self, ctx, messages, tools, options):
            return Message("assistant", "from the script")

    seen = failing(Broken(given=lambda config: replace(config, model=Own())))
    assert seen["answers"].startswith("the model was asked 0 times")


def test_a_door_that_runs_its_own_tool_is_wrong() -> None:
    class Own:
        def __init__(self, info) -> None:
            self.info = info

        async def invoke(self, ctx, arguments, options):
            return "the tool's own words"

    def with_own(config):
        tools = [Own(each.info) for each in config.tools_config.tools]
        return replace(config, tools_config=ToolsConfig(tools))

    seen = failing(Broken(given=with_own))
    assert seen["tools"].startswith("the tool was executed 0 times")
    assert "and tools executed: 0" in seen["canary"]


def test_a_door_that_calls_a_tool_outside_its_call_is_told_what_makes_one() -> None:
    class Outside:
        def __init__(self, tool) -> None:
            self.info, self._tool = tool.info, tool

        async def invoke(self, ctx, arguments, options):
            return await self._tool.invoke(run_context("smoke"), arguments, options)

    def outside(config):
        tools = [Outside(each) for each in config.tools_config.tools]
        return replace(config, tools_config=ToolsConfig(tools))

    seen = failing(Broken(given=outside))
    assert "under the call id None, not 'call-1': call it with" in seen["tools"]
    assert "doors.at_call(ctx, run, call.id)" in seen["tools"]


def test_a_door_that_leaves_handlers_out_is_wrong() -> None:
    seen = failing(Broken(given=lambda config: replace(config, handlers=())))

    assert set(seen) == {"hooks"}
    assert seen["hooks"].startswith("no hook was entered; seen: build")


def test_a_door_that_calls_hooks_a_handler_does_not_have_is_wrong() -> None:
    class Every:
        def __init__(self, handler) -> None:
            self.name = handler.name
            self.before = handler.before_model_rewrite_history
            self.after = handler.after_model_rewrite_history

        def before_model_rewrite_history(self, ctx, messages):
            return self.before(ctx, messages)

        def after_model_rewrite_history(self, ctx, messages):
            return self.after(ctx, messages)

    def every(config):
        return replace(config, handlers=[Every(each) for each in config.handlers])

    seen = failing(Broken(given=every))
    assert "after_model was entered: a handler's hooks are those" in seen["hooks"]


def test_a_door_that_declares_no_hook_is_asked_for_none() -> None:
    results = smoke(loaded(ReferenceDoor(), "sequential"))

    assert [each.name for each in results] == [e for e in CHECKS if e != "hooks"]
    assert all(each.passed for each in results)


def test_a_door_that_swallows_errors_is_wrong() -> None:
    def swallow(event):
        return None if event.kind == "error" else event

    seen = failing(Broken(told=swallow))
    assert seen["canary"].startswith("the run did not report that error")


def test_a_door_that_reports_another_error_is_wrong() -> None:
    def other(event):
        return replace(event, error=RuntimeError("no")) if event.error else event

    seen = failing(Broken(told=other))
    assert seen["canary"].startswith("the run did not report that error")


def test_a_door_that_tells_of_no_answer_is_wrong() -> None:
    seen = failing(Broken(told=lambda event: None if event.kind == "model" else event))

    assert seen["answers"].startswith("the events of the model were []")


def test_a_door_that_reports_another_answer_is_wrong() -> None:
    mine = Message("assistant", "mine")
    seen = failing(Broken(over=lambda outcome: replace(outcome, answer=mine)))

    assert seen["answers"].startswith("the answer was 'mine'")


def test_an_engine_that_tells_the_model_of_a_failed_tool_has_a_good_door() -> None:
    class Caught:
        def __init__(self, tool) -> None:
            self.info, self._tool = tool.info, tool

        async def invoke(self, ctx, arguments, options):
            try:
                return await self._tool.invoke(ctx, arguments, options)
            except ScriptedError as error:
                return f"it failed: {error}"

    def caught(config):
        tools = [Caught(each) for each in config.tools_config.tools]
        return replace(config, tools_config=ToolsConfig(tools))

    assert failing(Broken(given=caught)) == {}


def with_call_id(event):
    return replace(event, call_id=7) if event.kind == "tool" else event


def with_text_path(event):
    return replace(event, run_path="agent")


def with_content(event):
    if event.message is None:
        return event
    return replace(event, message=replace(event.message, content=7))


def with_iterations(outcome):
    return replace(outcome, iterations="2")


@pytest.mark.parametrize(
    ("door", "told"),
    [
        ({"told": with_call_id}, "event.call_id is 7 (int): a text or None is wanted"),
        ({"told": with_text_path}, "event.run_path is 'agent' (str): a tuple"),
        ({"told": with_content}, "event.message.content is 7 (int): a text is wanted"),
        ({"over": with_iterations}, "outcome.iterations is '2' (str): a whole number"),
    ],
)
def test_a_field_that_changed_its_type_is_named_with_got_and_wanted(door, told) -> None:
    assert told in failing(Broken(**door))["types"]


def test_an_event_that_is_none_breaks_off_and_is_named() -> None:
    seen = failing(Broken(told=lambda event: {"kind": event.kind}))

    assert "an event is {'kind': 'model'} (dict): an AgentEvent" in seen["types"]
    assert "run_end raised TypeError: an event is" in seen["answers"]


def test_chunks_of_a_stream_are_looked_at() -> None:
    async def numbers():
        yield 7

    def numbered(event):
        return replace(event, stream=StreamReader(numbers()))

    seen = failing(Broken(told=numbered))
    assert "a chunk of event.stream is 7 (int)" in seen["types"]


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (AgentEvent("other", ("a",), Message("user")), "event.kind"),
        (AgentEvent("model", ()), "event.run_path"),
        (AgentEvent("model", ("a",)), "event.message"),
        (AgentEvent("error", ("a",)), "event.error"),
        (AgentEvent("model", ("a",), Message("user"), action="exit"), "event.action"),
        (AgentEvent("model", ("a",), stream=[]), "event.stream"),
    ],
)
def test_each_field_of_an_event_is_looked_at(made, field) -> None:
    assert field in {each.field for each in event_faults(made)}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"role": "tools"}, "m.role"),
        ({"tool_call_id": 7}, "m.tool_call_id"),
        ({"extra": []}, "m.extra"),
        ({"tool_calls": ({"id": "1"},)}, "m.tool_calls[0]"),
        ({"tool_calls": (ToolCall(1, "t", "{}"),)}, "m.tool_calls[0].id"),
        ({"tool_calls": (ToolCall("1", "t", {}),)}, "m.tool_calls[0].arguments"),
    ],
)
def test_each_field_of_a_message_is_looked_at(change, field) -> None:
    made = Message(**{"role": "user", **change})

    assert [each.field for each in message_faults("m", made)] == [field]


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (None, "run.outcome"),
        (RunResult("done", History(), None, (), 0), "outcome.status"),
        (RunResult("completed", [], None, (), 0), "outcome.messages"),
        (RunResult("completed", History(["hi"]), None, (), 0), "outcome.messages[0]"),
        (RunResult("completed", History(), "hi", (), 0), "outcome.answer"),
        (RunResult("completed", History(), None, (), 1.0), "outcome.iterations"),
    ],
)
def test_each_field_of_an_outcome_is_looked_at(made, field) -> None:
    assert [each.field for each in outcome_faults(made)] == [field]


def test_every_capability_has_a_world_that_shows_it() -> None:
    assert set(WORLDS) == set(CAPABILITIES)


HALVES_OF_TEXTS = frozenset(["openai-agents"])
"""They take half a character in a text, and end a run with one in arguments."""


@pytest.mark.parametrize("name", INSTALLED)
def test_the_doors_of_the_project_declare_what_they_have(name) -> None:
    found = frozenset(["lone_surrogates"]) if name in HALVES_OF_TEXTS else frozenset()

    assert probe(load_engine(name)) == (frozenset(), found)


@pytest.mark.parametrize("under", [each.name for each in PROFILES])
def test_what_is_found_does_not_depend_on_the_profile(under) -> None:
    assert probe(load_engine("reference", under)) == (frozenset(), frozenset())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_capability_that_is_not_declared_is_found(capability) -> None:
    less = ALL - {capability}
    engine = Refusing(ReferenceDoor(), less)

    # A crowd is not tried on an engine that does not say it can take one.
    found = {capability} - {"many_extensions"}
    assert probe(LoadedEngine("less", engine, SEED_001, less)) == (set(), found)


def test_what_a_door_forgets_is_absent() -> None:
    forgets = Broken(given=lambda config: replace(config, handlers=(), middlewares=()))
    absent, undeclared = probe(loaded(forgets))

    assert absent == {
        "before_agent",
        "before_model",
        "after_model",
        "after_agent",
        "wrap_model",
        "wrap_tool",
        "wrap_streamable",
        "adapted_structs",
        "struct_tools",
        "struct_instruction",
        "struct_model_hooks",
        "struct_tool_wrappers",
        "edited_config",
        "streamed_model_wraps",
        "many_extensions",
        "several_handlers",
        "run_locals",
        "resume",
        "run_context",
    }
    assert not undeclared


def test_an_engine_that_breaks_down_has_nothing() -> None:
    def refuse(config):
        raise ValueError("no")

    absent, undeclared = probe(loaded(Broken(given=refuse)))
    assert (absent, undeclared) == (ALL, frozenset())


def test_what_an_engine_prints_is_no_fault(capfd) -> None:
    class Loud(ReferenceDoor):
        async def build(self, config, on_notice):
            sys.stdout.write("building")
            return await super().build(config, on_notice)

    assert failing(Loud()) == {}
    assert "building" in capfd.readouterr().out
