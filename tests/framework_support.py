"""Agents that a door to a framework plays as its profile says."""

import asyncio
from typing import Any

from compat.engines.capabilities import refusal_of
from refengine.agent import ChatModelAgentConfig
from refengine.messages import Message
from refengine.testing.clock import run
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario_files import read_scenario
from refengine.testing.scripted import RecordingTool, ScriptedModel
from refengine.testing.session import play
from refengine.testing.trace import Trace
from refengine.tools import ToolsConfig

TOOL = {"name": "t", "result": "got <args>"}
ONE_CALL = ["assistant:[1:t({})]", "assistant:done"]
OURS_ALONE = frozenset(("run_context", "actions", "own_errors"))
"""Capabilities that are about objects of ours, which no framework has."""


def trace_of(engine, script, *, run_: Any = None, **agent) -> Trace:
    runs = [{"input": ["user:hi"], **(run_ or {})}]
    scenario = {"agent": agent, "model_script": script, "runs": runs}
    return run(play(read_scenario(scenario), engine))


def told_as_refused_at_build(engine, capability: str, made: dict[str, Any]) -> None:
    [told] = trace_of(engine, **{"script": ["assistant:x"], **made})

    assert told.kind == "build_error"
    assert f"{engine.name} does not declare {capability!r}, which" in str(told.data)


def told_as_refused_at_work(engine, capability: str, made: dict[str, Any]) -> None:
    trace = trace_of(engine, **{"script": ["assistant:x"], **made})

    assert f"does not declare {capability!r}, which" in (refusal_of(trace) or "")
    assert trace.of("event")[-1].data["class"] == "CapabilityError"


def handler(name: str = "H", **hooks) -> dict[str, Any]:
    return {"id": name, **hooks}


def config_of(model, **parts) -> ChatModelAgentConfig:
    return ChatModelAgentConfig(name="demo", description="", model=model, **parts)


async def left_early(engine, *, stream: bool = False):
    """Return the first event of a run that is left there, its end, and its calls."""
    tool = RecordingTool(ToolSpec(name="t", result="r"))
    config = config_of(ScriptedModel(ONE_CALL), tools_config=ToolsConfig(tools=[tool]))
    agent = await engine.build(config, lambda notice: None)
    async with agent.run([Message("user", "hi")], stream) as running:
        event = await anext(aiter(running))
    return event, running.outcome, tool.executions


class Echo:
    """A model that says after a while how what it is shown begins and ends."""

    async def invoke(self, ctx, messages, tools, options):
        await asyncio.sleep(0.01)
        return Message("assistant", f"{messages[0].content} {messages[-1].content}")


class AddsInput:
    """A handler that adds to the instruction what the run was given."""

    name = "adds"

    async def before_agent(self, ctx, config):
        config.instruction += config.input[-1].content
        return ctx


async def two_at_once(engine, **parts) -> list[str]:
    """Return the answers of two runs of one agent, which were given "a" and "b"."""
    agent = await engine.build(config_of(Echo(), **parts), lambda notice: None)

    async def one(text: str) -> str:
        async with agent.run([Message("user", text)]) as running:
            return [event.message.content async for event in running][-1]

    return list(await asyncio.gather(one("a"), one("b")))


STREAMED = {**TOOL, "kind": "streamable", "chunks": ["a"]}
REFUSED: dict[str, dict[str, Any]] = {
    "wrap_streamable": {"handlers": [handler(wrap_streamable={})]},
    "struct_instruction": {"middlewares": [{"additional_instruction": "x"}]},
    "struct_model_hooks": {"middlewares": [{"before_chat_model": [{"op": "record"}]}]},
    "struct_tool_wrappers": {"middlewares": [{"wrap_tool_call": {"invokable": {}}}]},
    "tool_call_middlewares": {"tool_call_middlewares": [{}]},
    "unknown_tools_handler": {"unknown_tools_handler": "none"},
    "streamable_tools": {"tools": [STREAMED]},
    "resume": {"run_": {"checkpoint": "kept"}},
    "retry": {"retry": {"max_retries": 1}},
}
"""What doors to frameworks with hooks refuse when they build, by its capability."""
SET = [{"op": "ctx_set", "key": "h", "value": 1}]
AT_WORK: dict[str, dict[str, Any]] = {
    "context": {"handlers": [handler(before_model=SET)]},
    "run_options": {"run_": {"options": {"x": 1}}},
}
"""What they refuse when it shows."""


FAIL = [{"op": "error", "text": "no"}]
SAME = {
    "a text with arguments as they were written": {
        "script": ['assistant:[1:t({"b": 1,"a":[]})]', "assistant:done"],
        "tools": [TOOL],
    },
    "wrappers nest": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [
            handler(n, wrap_invokable={"record": n, "prefix_result": n}) for n in "AB"
        ],
    },
    "changed arguments": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(wrap_invokable={"rewrite_args": '{"x": 1}'})],
    },
    "arguments in another notation, for a call with another name": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [
            handler("A", wrap_invokable={"set_input_name": "a"}),
            handler("B", wrap_invokable={"rewrite_args": '{"":""}'}),
            handler("C", wrap_invokable={}),
        ],
    },
    "arguments in another notation, which stay the wrapper's own": {
        "script": ['assistant:[1:t({"q": "a"})]', "assistant:done"],
        "tools": [TOOL],
        "handlers": [
            handler(wrap_invokable={"rewrite_args": '{"q":"a"}'}, after_model=[])
        ],
    },
    "a short circuit": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(wrap_invokable={"short_circuit": "cut"})],
    },
    "an error that a wrapper catches": {
        "script": ONE_CALL,
        "tools": [{**TOOL, "error": "no"}],
        "handlers": [handler(wrap_invokable={"catch_error": "saw <error>"})],
    },
    "a tool's error": {"script": ONE_CALL, "tools": [{**TOOL, "error": "no"}]},
    "a tool's error through a wrapper": {
        "script": ONE_CALL,
        "tools": [{**TOOL, "error": "no"}],
        "handlers": [handler(wrap_invokable={"record": "H"})],
    },
    "a model's error": {"script": [{"error": "no"}], "tools": [TOOL]},
    "an error before the model": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler("A", before_model=[]), handler("B", before_model=FAIL)],
    },
    "an error after the model": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(after_model=FAIL)],
    },
    "a history that is rewritten": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "instruction": "Be brief.",
        "handlers": [
            handler("A", before_model=[{"op": "keep_last", "n": 3}]),
            handler("B", after_model=[{"op": "append", "msg": "system:noted"}]),
        ],
    },
    "a history that is cut in the middle of a call": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(before_model=[{"op": "keep_last", "n": 1}])],
    },
}
