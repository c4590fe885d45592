"""Callbacks and plugins of one Flow agent as a handler of the engine: FLOW-COMPAT."""

import asyncio
from dataclasses import fields, replace
from typing import Any

import pytest

from compat.adapters import NotCarriedError
from compat.adapters.flow import agent_to_config, engine_profile
from compat.adapters.flow.plugins import LLM_HOOKS
from compat.dialects.flow import (
    Content,
    GenerateConfig,
    LlmAgent,
    LlmResponse,
    Part,
    Plugin,
    Usage,
    agent_tool,
    function_tool,
    text_content,
)
from compat.dialects.flow.profile import FLOW_PROFILES, flow_profile
from refengine import Message, build_agent
from tests.flow_support import ScriptedModel, calls, run, runner_of, tool

SAFE = flow_profile("flow-safe")
each_profile = pytest.mark.parametrize(
    "profile", FLOW_PROFILES, ids=lambda each: each.name
)


class World:
    """An agent with a scripted model, made twice; what is done is in ``log``."""

    def __init__(self, *script, plugins=None, **made_of):
        self.script, self.plugins, self.made_of = script, plugins or {}, made_of
        self.log = []

    def agent(self, model):
        given = {
            key: [self.noted(key, each) for each in value]
            if _is_hooks(value)
            else value
            for key, value in self.made_of.items()
        }
        tools = given.pop("tools", None) or [self.tool("f")]
        return LlmAgent(name="clerk", model=model, tools=tools, **given)

    def tool(self, name, gives=None):
        def act(a: int = 0):
            self.log.append((name, a))
            if isinstance(gives, Exception):
                raise gives
            return {"v": a} if gives is None else gives

        return function_tool(act, name=name)

    def noted(self, name, hook):
        def noting(*args):
            self.log.append(name)
            return hook(*args)

        return noting

    def made_plugins(self):
        return [
            Plugin(
                name=name,
                **{key: self.noted(f"{name}.{key}", x) for key, x in hooks.items()},
            )
            for name, hooks in self.plugins.items()
        ]

    def flow(self, profile):
        """Return requests, what was done, and the answer, of the dialect's runner."""
        self.log.clear()
        model = ScriptedModel(*self.script)
        runner = runner_of(
            self.agent(model), *self.made_plugins(), profile=profile.name
        )
        answer = error = None
        try:
            events = asyncio.run(run(runner))
            answer = events[-1].content.text
        except Exception as raised:  # noqa: BLE001  # it is compared
            error = cause(raised)
        return seen(model), list(self.log), answer, error

    def engine(self, profile):
        """Return the same of the engine."""
        self.log.clear()
        model = ScriptedModel(*self.script)
        answer = error = None
        try:
            answer = asyncio.run(self.answer(model, profile))
        except NotCarriedError:
            raise
        except Exception as raised:  # noqa: BLE001  # it is compared
            error = cause(raised)
        return seen(model), list(self.log), answer, error

    async def answer(self, model, profile):
        plugins = self.made_plugins()
        config = await agent_to_config(self.agent(model), profile, plugins)
        agent = await build_agent(config, profile=engine_profile(profile))
        return (await finished(agent, [Message("user", "hi")])).answer.content


async def finished(agent, messages, **how) -> Any:
    """Run an agent to its end and return its outcome; a refusal comes out as itself."""
    run = agent.run(messages, **how)
    async for _ in run:
        pass
    if run.error is not None:
        raise refusal_in(run.error) or run.error
    return run.outcome


def _is_hooks(value):
    return isinstance(value, list) and all(callable(each) for each in value)


def refusal_in(error):
    while error is not None and not isinstance(error, NotCarriedError):
        error = getattr(error, "cause", None) or error.__cause__
    return error


def cause(error):
    """Return the exception that all others stand around."""
    while getattr(error, "cause", None) is not None:
        error = error.cause
    return type(error), str(error)


def seen(model):
    """Return the requests as a model is sent them."""
    return [(config, contents) for config, contents, _ in model.requests]


def both(world, profile):
    return world.flow(profile), world.engine(profile)


def giving(value):
    return lambda *_: value


def saying(text):
    return giving(LlmResponse(content=text_content("model", text)))


def raising(text):
    def hook(*_):
        raise KeyError(text)

    return hook


def adding(text):
    def hook(_, request):
        request.contents.append(text_content("user", text))
        request.append_instructions(text)

    return hook


def dropping(_, request):
    request.contents[:] = request.contents[-1:]
    request.config = replace(request.config, tools=(), temperature=0.5)


def setting(_, __, args, *___):
    args["a"] = 7


F = calls(("f", {"a": 1}))
WORLDS = {
    "no hooks": World(F, "ok"),
    "instruction": World(F, "ok", instruction="Be brief.", description="a clerk"),
    "settings": World(F, "ok", config=GenerateConfig(temperature=0.1)),
    "several calls": World(calls("f", ("f", {"a": 2})), calls("f", id_from=3), "ok"),
    "early answer": World(before_model=[giving(None), saying("no")]),
    "early answer of a plugin": World(
        plugins={"p": {"before_model": saying("no")}}, before_model=[saying("never")]
    ),
    "edited request": World(F, "ok", before_model=[adding("x"), dropping]),
    "replaced answer": World(F, "ok", after_model=[saying("other")]),
    "meter": World(
        LlmResponse(content=text_content("model", "ok"), usage=Usage(total=3)),
        after_model=[lambda _, response: saying(f"cost {response.usage.total}")()],
    ),
    "model recovers": World(
        ValueError("down"), on_model_error=[giving(None), saying("later")]
    ),
    "model fails": World(ValueError("down"), on_model_error=[giving(None)]),
    "early result": World(F, "ok", before_tool=[giving(None), giving({"v": 9})]),
    "empty result": World(F, "ok", before_tool=[giving({}), giving({"v": 9})]),
    "empty, then nothing": World(F, "ok", before_tool=[giving({}), giving(None)]),
    "edited arguments": World(F, "ok", before_tool=[setting]),
    "replaced result": World(F, "ok", after_tool=[giving({"v": 3})]),
    "before_tool raises": World(F, "ok", before_tool=[raising("no")]),
    "after_tool raises": World(F, "ok", after_tool=[raising("no")]),
    "before_model raises": World("ok", before_model=[raising("no")]),
    "plugin raises": World("ok", plugins={"p": {"before_model": raising("no")}}),
    "plugin's tool hook raises": World(
        F, "ok", plugins={"p": {"before_tool": raising("no")}}
    ),
    "tool recovers": World(calls("g"), "ok", on_tool_error=[giving({"sorry": True})]),
    "unknown tool": World(calls("g"), "ok", before_tool=[giving(None)]),
    "silent plugins": World(
        F,
        "ok",
        plugins={
            "p": {"before_model": giving(None), "after_tool": giving({"v": 1})},
            "q": {"after_tool": giving({"v": 2})},
        },
    ),
}


@each_profile
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_engine_does_what_the_flow_does(profile, world) -> None:
    flow, engine = both(world, profile)

    assert engine == flow


@each_profile
@pytest.mark.parametrize(
    "gives", [ValueError("broken"), "text", ["a", 1], 0, {}, None], ids=repr
)
def test_what_a_tool_gives_reaches_hooks_and_model_as_in_a_flow(profile, gives) -> None:
    world = World(calls("f"), "ok")
    world.made_of = {"tools": [world.tool("f", gives)]} if gives is not None else {}
    noted: list[object] = []

    def note(_, __, ___, result, error):
        noted.append((result, str(error)))

    world.made_of["after_tool"] = [note]

    flow = world.flow(profile)
    told, noted = list(noted), []
    engine = world.engine(profile)

    assert (engine, noted) == (flow, told)


# What is refused by name


def refused(part, **made_of):
    """Port an agent of these parts and run it; it is refused, and the part is named."""
    script = made_of.pop("script", [F, "ok"])
    with pytest.raises(NotCarriedError) as caught:
        World(*script, **made_of).engine(SAFE)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("before_agent", [giving(None)]),
        ("after_agent", [giving(None)]),
        ("sub_agents", [LlmAgent(name="other")]),
        ("toolsets", [object()]),
        ("include_contents", "none"),
        ("output_schema", {"type": "object"}),
        ("output_key", "k"),
        ("instruction_provider", giving("x")),
        ("global_instruction_provider", giving("x")),
        ("request_processors", [giving(None)]),
        ("response_processors", [giving(None)]),
    ],
)
def test_a_part_of_an_agent_that_has_no_place_is_refused_by_name(field, value) -> None:
    refused(f"{field} of 'agent clerk'", **{field: value})


@pytest.mark.parametrize(
    "hook",
    [each.name for each in fields(Plugin) if each.name not in {"name", *LLM_HOOKS}],
)
def test_a_hook_of_a_plugin_that_has_no_place_is_refused_by_name(hook) -> None:
    refused(f"{hook} of 'plugin p'", plugins={"p": {hook: giving(None)}})


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"long_running": True}, "long_running"),
        ({"needs_confirmation": True}, "needs_confirmation"),
    ],
)
def test_a_tool_that_waits_is_refused_by_name(options, part) -> None:
    refused(f"{part} of 'tool f'", tools=[tool("f", **options)])


def test_agents_as_tools_and_tools_of_one_name_are_refused() -> None:
    refused("agent of 'tool inner'", tools=[agent_tool(LlmAgent(name="inner"))])
    refused("the name of another tool", tools=[tool("f"), tool("f")])


def write_state(ctx, *_):
    ctx.state["k"] = 1


def read_state(ctx, *_):
    ctx.state.get("k")


def read_events(ctx, *_):
    list(ctx.invocation_context.session.events)


async def save(ctx, *_):
    await ctx.save_artifact("a.txt", Part(text="x"))


def hand_over(ctx, *_):
    ctx.actions.transfer_to_agent = "other"


def hide(_, request):
    request.tools.clear()


@pytest.mark.parametrize("hook", ["before_model", "after_model", "before_tool"])
@pytest.mark.parametrize(
    ("reaches", "part"),
    [
        (write_state, "state"),
        (read_state, "state"),
        (read_events, "session.events"),
        (save, "artifacts"),
        (hand_over, "actions.transfer_to_agent"),
    ],
)
def test_what_a_hook_reaches_for_in_vain_ends_the_run_by_name(
    hook, reaches, part
) -> None:
    refused(f"{part} of 'a hook of agent clerk'", **{hook: [reaches]})


def test_a_place_in_an_instruction_is_state() -> None:
    refused("state of", instruction="Hello {name}")


def test_a_table_of_tools_that_a_hook_changes_is_refused() -> None:
    refused("request.tools", before_model=[hide])


@pytest.mark.parametrize(
    ("says", "part"),
    [
        (text_content("model", "a", "b"), "with text, text"),
        (text_content("user", "a"), "without a model's content"),
        (Content("model", (Part(text="a", thought=True),)), "thought"),
        (LlmResponse(error_code="SAFETY"), "error_code"),
        (LlmResponse(content=text_content("model", "a"), partial=True), "partial"),
        (LlmResponse(), "without a model's content"),
        ([LlmResponse(), LlmResponse()], "2 responses"),
    ],
)
def test_an_answer_that_no_message_holds_is_refused_by_name(says, part) -> None:
    refused(part, script=[says])


def test_an_id_of_two_calls_is_refused() -> None:
    refused("the second call of the id 'c1'", script=[F, F, "ok"])


def test_a_streamed_run_is_refused() -> None:
    async def stream():
        agent = World("ok").agent(ScriptedModel("ok"))
        config = await agent_to_config(agent, SAFE)
        built = await build_agent(config, profile=engine_profile(SAFE))
        await finished(built, [Message("user", "hi")], stream=True)

    with pytest.raises(NotCarriedError, match="a streamed run"):
        asyncio.run(stream())


def test_a_second_turn_goes_on_with_the_messages_of_the_first() -> None:
    async def engine(model):
        agent = World().agent(model)
        config = await agent_to_config(agent, SAFE)
        built = await build_agent(config, profile=engine_profile(SAFE))
        history = []
        for said in ("hi", "again"):
            outcome = await finished(built, [*history, Message("user", said)])
            history = [each for each in outcome.messages if each.role != "system"]

    async def flow(model):
        runner = runner_of(World().agent(model), profile="flow-safe")
        for said in ("hi", "again"):
            await run(runner, said)

    old, new = ScriptedModel(F, "one", "two"), ScriptedModel(F, "one", "two")
    asyncio.run(flow(old))
    asyncio.run(engine(new))

    assert seen(new) == seen(old)
