"""A second engine, written from the contract alone: it shares no part of ours.

Every step is a method, and each call a task. It takes no structs and streams nothing.
"""

import asyncio
from dataclasses import replace
from functools import partial

from refengine import errors
from refengine.context import Context, at_point_of
from refengine.events import AgentEvent
from refengine.hooks import AgentConfig
from refengine.messages import History, Message
from refengine.model import ModelRequest
from refengine.testing import doors
from refengine.tools import ToolCallInput, ToolCallResult, as_meta


class Agent:
    """What all runs of an agent go by."""

    def __init__(self, config):
        self.config, self.ctx = config, Context()
        if type(config.max_iterations) is not int or config.max_iterations < 1:
            raise errors.MaxIterationsError(config.max_iterations)
        self.hooks, self.tools, self.direct = {}, [], set()
        names = [each.name for each in config.handlers]
        for at, each in enumerate(config.handlers):
            first = [other is each for other in config.handlers].index(True)
            if first != at:
                raise errors.SameExtensionTwiceError(each.name, first, at)
            name, often = each.name, names.count(each.name)
            name = f"{name}[{names[:at].count(name)}]" if often > 1 else name
            for hook, call in doors.handler_hooks(each).items():
                self.hooks.setdefault(hook, []).append(((name, at, hook), call))

    async def prepare(self):
        given = self.config.tools_config
        self.tools = self.folded(given.tools)
        flags = {m.name: m.return_directly for m in self.tools}
        own = {name: flag for name, flag in flags.items() if flag is not None}
        edited = AgentConfig(self.config.instruction, list(self.tools))
        for who, hook in self.hooks.get("before_agent", ()):
            self.ctx = await self.configured(who, hook, edited)
        self.instruction = edited.instruction
        for each in self.tools:
            flag = each.return_directly
            if flag is None:
                flag = {**given.return_directly, **own}.get(each.name, False)
            if flag:
                self.direct.add(each.name)
        return self

    async def configured(self, who, hook, edited):
        ctx = await in_name_of(who, hook(self.ctx, edited))
        if not isinstance(ctx, Context) or not isinstance(edited.tools, list | tuple):
            raise errors.HookReturnError(who[0], who[2], edited.tools, "a list")
        self.tools = self.folded(edited.tools)
        edited.tools = list(self.tools)
        return ctx

    def folded(self, tools):
        found = {}
        for meta in map(as_meta, tools):
            flag = meta.return_directly
            if flag is None and meta.name in found:
                flag = found[meta.name].return_directly
            found[meta.name] = replace(meta, return_directly=flag)
        return list(found.values())


async def in_name_of(who, waiting):
    try:
        return await waiting
    except Exception as error:
        raise errors.HookError(*who, error) from error


class Onion:
    def __init__(self, wraps, core, result):
        self.result, self.raised, self.refused = result, {}, None
        self.enter = partial(self.noting, None, core)
        for who, wrap in reversed(wraps):
            inner = self.enter
            self.enter = partial(self.noting, who, partial(self.next, wrap, inner))

    def next(self, wrap, inner, ctx, asked):
        return wrap(ctx, asked, inner)

    async def noting(self, who, call, ctx, asked):
        try:
            got = await call(ctx, asked)
        except Exception as error:
            self.raised.setdefault(id(error), (error, who))
            raise
        if who is not None and not isinstance(got, self.result):
            wanted = self.result.__name__
            self.refused = errors.HookReturnError(who[0], who[2], got, wanted)
            raise self.refused
        return got

    def leaving(self, error, own, **where):
        if error is self.refused:
            return error
        _, who = self.raised[id(error)]
        return own(error) if who is None else errors.HookError(*who, error, **where)


class Run:
    def __init__(self, agent, given, options):
        self.agent, self.options, self.path = agent, options, agent.config.name
        self.ctx = doors.run_context(self.path)
        for key, value in agent.ctx.items():
            self.ctx = self.ctx.with_value(key, value)
        text = agent.instruction
        self.first = Message("system", text) if text else None
        self.history = [self.first, *given] if text else [*given]
        self.status, self.answer, self.asked, self.shown = "", None, 0, ()

    async def told(self):
        try:
            while not self.status and self.goes_on():
                async for event in self.iteration():
                    yield event
        except Exception as error:  # noqa: BLE001  # it is the last event
            self.status = "error"
            yield AgentEvent("error", (self.path,), error=error)
        how = {"iterations": self.asked, "first": self.first, "answer": self.answer}
        yield doors.ended(self.history, self.status, **how)

    def goes_on(self):
        if self.asked == self.agent.config.max_iterations:
            self.status = "max_iterations"
        else:
            self.asked += 1
        return not self.status

    async def iteration(self):
        ctx = await self.hooked("before_model_rewrite_history", self.ctx)
        self.history.append(await self.ask(ctx))
        yield doors.event_of(self.history[-1], self.path)
        ctx = await self.hooked("after_model_rewrite_history", ctx)
        if not (calls := self.route()):
            self.status = "completed"
        runs = [self.prepared(each, ctx) for each in calls]
        async for event in self.made(calls, runs):
            yield event

    async def hooked(self, hook, ctx):
        left = History(tuple(self.history))
        for who, call in self.agent.hooks.get(hook, ()):
            new, left = await in_name_of(who, call(ctx, left))
            ctx = at_point_of(new, self.ctx)
        self.history = list(left)
        return ctx

    async def ask(self, ctx):
        self.shown = [each.tool.info for each in self.agent.tools]
        request = ModelRequest(tuple(self.history), self.shown, self.options)
        wraps = self.agent.hooks.get("wrap_model_call", ())
        onion = Onion(wraps, self.asked_model, Message)
        try:
            return await onion.enter(ctx, request)
        except Exception as error:
            raise onion.leaving(error, errors.ModelError) from error

    async def asked_model(self, ctx, request):
        self.shown = request.tools
        given = request.messages, request.tools, request.options
        return await self.agent.config.model.invoke(at_point_of(ctx, self.ctx), *given)

    def route(self):
        if not self.history:
            raise errors.NoMessagesLeftError
        last = self.history[-1]
        return last.tool_calls if last and last.role == "assistant" else ()

    def prepared(self, call, ctx):
        shown = {info.name for info in self.shown}
        known = {m.name: m for m in self.agent.tools if m.name in shown}
        if call.name in known:
            return partial(self.call, call, known[call.name].tool, ctx)
        raise errors.ToolNotFound(call.name, known)

    async def call(self, call, tool, ctx):
        asked = ToolCallInput(call.name, call.arguments, call.id, self.options)

        async def core(ctx, given):
            here = doors.at_call(ctx, self.ctx, call.id)
            text = await tool.invoke(here, given.arguments, given.call_options)
            return ToolCallResult(text)

        wraps = self.agent.hooks.get("wrap_invokable_tool_call", ())
        onion = Onion(wraps, core, ToolCallResult)
        try:
            return (
                await onion.enter(doors.at_call(ctx, self.ctx, call.id), asked)
            ).result
        except Exception as error:
            own = partial(errors.ToolError, call.name, call.id)
            raise onion.leaving(error, own, tool=call.name, call_id=call.id) from error

    async def made(self, calls, runs):
        tasks = [asyncio.create_task(each()) for each in runs]
        told = [Message("tool", "", (), each.id, each.name) for each in calls]
        failed = []
        try:
            for at, task in enumerate(tasks):
                await asyncio.wait({task})
                if task.exception() is not None:
                    failed.append(task.exception())
                    continue
                told[at] = replace(told[at], content=task.result())
                yield doors.event_of(told[at], self.path)
        finally:
            for task in tasks:
                task.cancel()
        self.settle(told, failed)

    def settle(self, told, failed):
        if failed:
            raise failed[0]
        self.history += told
        for each in told:
            if each.name in self.agent.direct:
                self.status, self.answer = "returned_directly", each


class Second:
    """The engine; its agents and runs may be of other classes, which are broken."""

    name = "second"
    capabilities = (
        *("before_agent", "before_model", "after_model", "wrap_model", "wrap_tool"),
        *("edited_config", "context", "run_options", "arguments_text", "lock_step"),
        *("return_directly", "parallel_calls", "concurrent_calls", "several_handlers"),
    )

    def __init__(self, agents=Agent, runs=Run):
        self.agents, self.runs = agents, runs

    async def build(self, config, _):
        agent = await self.agents(config).prepare()

        def start(messages, stream, options):
            return self.runs(agent, messages, options).told()

        return doors.door_agent(config.name, start)
