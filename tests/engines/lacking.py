"""The reference engine, really without one capability: what it is asked for is lost.

A check that fails on such an engine, where it should not apply, does not say what it
needs, or a world does not.
"""

import asyncio
import copy
import json
from dataclasses import replace
from types import MappingProxyType

from property_tests.given_runs import OtherwiseGivenRun
from refengine.agent import build_agent
from refengine.awaiting import settled
from refengine.context import at_point
from refengine.extensions import as_hooks
from refengine.hooks import hooks_of
from refengine.profile import SEED_001
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.doors import ended
from refengine.testing.telling import Pieces
from refengine.tools import ToolMiddleware

HOOKS = {
    "before_agent": "before_agent",
    "before_model": "before_model_rewrite_history",
    "after_model": "after_model_rewrite_history",
    "after_agent": "after_agent",
    "wrap_model": "wrap_model_call",
    "wrap_tool": "wrap_invokable_tool_call",
    "wrap_streamable": "wrap_streamable_tool_call",
    "adapted_structs": "bind_tool",
}
ONIONS = ("wrap_model_call", "wrap_invokable_tool_call", "wrap_streamable_tool_call")


class Cut:
    """A handler of which some hooks are left, each of them changed."""

    def __init__(self, handler, change, lost=None):
        self.name, found = hooks_of(handler, set())
        found = as_hooks(found)
        self.hooks = frozenset(found) - {lost}
        for name in self.hooks:
            setattr(self, name, change(name, found[name]))


def cut_handlers(config, change=lambda _, hook: hook, lost=None):
    """Cut every handler; one that stands twice stays one, and an adapted one whole."""
    cut = {
        id(each): each if hasattr(each, "legacy_hooks") else None
        for each in config.handlers
    }
    for each in config.handlers:
        cut[id(each)] = cut[id(each)] or Cut(each, change, lost)
    handlers = [cut[id(each)] for each in config.handlers]
    return replace(config, handlers=[each for each in handlers if each and each.hooks])


def without_hook(hook):
    return lambda config: cut_handlers(config, lost=hook)


def structs(**fields):
    def cut(config):
        cut = [replace(each, **fields) for each in config.middlewares]
        left = [each for each in cut if each != AgentMiddleware()]
        return replace(config, middlewares=left)

    return cut


def tools(**fields):
    return lambda config: replace(
        config, tools_config=replace(config.tools_config, **fields)
    )


def first_extension(config):
    if config.handlers:
        config = replace(config, handlers=config.handlers[:1], middlewares=())
    elif config.middlewares:
        config = replace(config, middlewares=config.middlewares[:1])
    wraps = config.tools_config.tool_call_middlewares[:1]
    lone = not (config.handlers or config.middlewares)
    return tools(tool_call_middlewares=wraps if lone else ())(config)


def without_edits(config):
    def change(name, hook):
        if name != "before_agent":
            return hook

        def before_agent(ctx, edited):
            given = copy.copy(edited)
            given.tools = list(edited.tools)
            return hook(ctx, given)

        return before_agent

    return cut_handlers(config, change)


def without_context(config):
    """Hand on no context but the one that hooks are given."""

    def change(name, hook):
        async def passed(ctx, given, *inner):
            if name in ONIONS:
                return await hook(ctx, given, lambda _, asked: inner[0](ctx, asked))
            got = await settled(hook(ctx, given))
            if name in ("before_agent", "after_agent"):
                return ctx
            return (ctx, got[1]) if isinstance(got, tuple) else got

        return passed

    return cut_handlers(config, change)


def without_run_locals(config):
    def change(name, hook):
        async def alone(ctx, *given):
            own = at_point(ctx, ctx.run_path, ctx.tool_call_id, {})
            return await settled(hook(own, *given))

        return alone

    return cut_handlers(config, change)


def next_once(config):
    def change(name, hook):
        if name not in ONIONS[1:]:
            return hook

        async def once(ctx, asked, inner):
            got = []

            async def first(ctx, asked):
                if not got:
                    got.append(await inner(ctx, asked))
                return got[0]

            return await hook(ctx, asked, first)

        return once

    return cut_handlers(config, change)


class OtherModel:
    """A model that is asked, or answers, otherwise."""

    def __init__(self, model, answer=lambda m: m, sent=lambda m: m):
        self.model, self.answer, self.sent = model, answer, sent

    async def invoke(self, ctx, messages, *more):
        sent = tuple(map(self.sent, messages))
        return self.answer(await self.model.invoke(ctx, sent, *more))

    async def stream(self, ctx, messages, *more):
        """Stream as ever: only answers in one piece are changed."""
        return await self.model.stream(ctx, tuple(map(self.sent, messages)), *more)


def other_model(answer=lambda m: m, sent=lambda m: m):
    return lambda config: replace(config, model=OtherModel(config.model, answer, sent))


def first_call(message):
    return replace(message, tool_calls=message.tool_calls[:1])


def last_of_id(message):
    by_id = {each.id: each for each in message.tool_calls}
    return replace(message, tool_calls=tuple(by_id.values()))


def as_objects(message):
    def usual(text):
        try:
            tree = json.loads(text)
        except ValueError:
            return "{}"
        return json.dumps(tree) if isinstance(tree, dict) else "{}"

    calls = [
        replace(each, arguments=usual(each.arguments)) for each in message.tool_calls
    ]
    return replace(message, tool_calls=tuple(calls))


def valid(message):
    text = message.content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return replace(message, content=text)


class Lossy(OtherwiseGivenRun):
    def result(self, outcome):
        if outcome.status != "cancelled":
            return outcome
        return replace(ended([], "cancelled"), events=outcome.events)


class Ahead(OtherwiseGivenRun):
    """Runs ahead of its consumer, who has events from a queue."""

    task = None

    async def __aexit__(self, *error):
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        await super().__aexit__(*error)

    async def events(self, given):
        queue = asyncio.Queue()
        self.task = asyncio.ensure_future(self.read(given, queue))
        self.task.add_done_callback(lambda _: queue.put_nowait(None))
        while (event := await queue.get()) is not None:
            yield event
        await self.task

    async def read(self, given, queue):
        async for event in given:
            if event.stream is None:
                queue.put_nowait(event)
                continue
            pieces = Pieces()
            queue.put_nowait(replace(event, stream=pieces.reader))
            try:
                async for each in event.stream:
                    pieces.add(each)
                pieces.end()
            except Exception as error:  # noqa: BLE001  # its reader gets it
                pieces.end(error)


class RunsOtherwise:
    """An agent whose runs are called, or told, otherwise."""

    def __init__(self, agent, called=None, told=lambda run: run):
        self.agent, self.called, self.told = agent, called or {}, told
        if hasattr(agent, "resume"):
            self.resume = lambda *given, **how: told(
                agent.resume(*given, **{**how, **self.without(how)})
            )

    def without(self, how):
        return {name: value for name, value in self.called.items() if name in how}

    def run(self, messages, stream=False, **how):  # noqa: FBT002  # contract §0
        how = {"stream": stream, **how}
        return self.told(self.agent.run(messages, **{**how, **self.without(how)}))


CONFIGURED = MappingProxyType(
    {
        **{capability: without_hook(hook) for capability, hook in HOOKS.items()},
        "struct_tools": structs(additional_tools=()),
        "struct_instruction": structs(additional_instruction=""),
        "struct_model_hooks": structs(before_chat_model=None, after_chat_model=None),
        "struct_tool_wrappers": structs(wrap_tool_call=ToolMiddleware()),
        "tool_call_middlewares": tools(tool_call_middlewares=()),
        "unknown_tools_handler": tools(unknown_tools_handler=None),
        "sequential": tools(sequential=False),
        "concurrent_calls": tools(sequential=True),
        "return_directly": tools(return_directly={}),
        "several_handlers": first_extension,
        "edited_config": without_edits,
        "context": without_context,
        "run_locals": without_run_locals,
        "next_twice": next_once,
        "retry": lambda config: replace(config, retry=None),
        "fall_back": lambda config: replace(
            config, retry=config.retry and replace(config.retry, fall_back=())
        ),
        "parallel_calls": other_model(first_call),
        "equal_call_ids": other_model(last_of_id),
        "arguments_text": other_model(as_objects),
        "lone_surrogates": other_model(valid, valid),
    }
)
"""What is lost, by capability, when an agent is built."""

RUN = MappingProxyType(
    {
        "streaming": {"called": {"stream": False}},
        "run_options": {"called": {"options": None}},
        "run_context": {"called": {"ctx": None}},
        "cancellation": {"told": Lossy},
        "lock_step": {"told": Ahead},
    }
)
"""What is lost, by capability, when a run is called, or told of."""


LOST = frozenset((*CONFIGURED, *RUN))
"""Every capability that can be lacked here."""


class Lacking:
    """The reference engine without these capabilities."""

    profile = SEED_001

    def __init__(self, *lacking):
        self.lacking = lacking
        self.name = f"reference without {', '.join(lacking)}"

    async def build(self, config, on_notice):
        for each in self.lacking:
            config = CONFIGURED.get(each, lambda same: same)(config)
        agent = await build_agent(config, self.profile, on_notice=on_notice)
        for each in self.lacking:
            if each in RUN:
                agent = RunsOtherwise(agent, **RUN[each])
        return agent
