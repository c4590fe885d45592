"""A right engine that does nothing itself: a generator, which asks for it to be done.

It is sent what came of that; messages that it yields are told.
"""

import asyncio
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

from refengine import Message, ToolCallInput, ToolCallResult, errors
from refengine.model import ModelRequest
from refengine.testing import doors
from refengine.testing.blaming import blame, named_hooks, named_wraps
from refengine.testing.telling import tell_ignored, to_the_end

INSIDE = ContextVar("INSIDE")


class Steps:
    def __init__(self, config, tools, wrapped, hooks, text, options):
        self.config, self.hooks, self.options = config, hooks, options
        self.notice: Any = None
        self.ctx = doors.run_context(config.name)
        self.tools, self.wrapped, self.most = tools, wrapped, config.max_iterations
        self.first = Message("system", text) if text else None
        self.history, self.asked, self.answer = [], 0, None
        self.status, self.shown = "max_iterations", {}

    def go(self, given):
        self.history = [*([self.first] if self.first else []), *given]
        while self.status == "max_iterations" and self.asked < self.most:
            self.asked += 1
            ctx = yield from self.passed("before_model_rewrite_history", self.ctx)
            self.history += yield [partial(self.ask, ctx)]
            yield self.history[-1]
            ctx = yield from self.passed("after_model_rewrite_history", ctx)
            if calls := self.route():
                yield from self.call_all(calls, ctx)
        if self.status != "max_iterations":
            yield from self.finish(self.ctx)

    def passed(self, hook, ctx):
        """Let every handler change the history; nothing of it stays if one fails."""
        left = tuple(self.history)
        for each in self.hooks:
            if hook in each:
                [got] = yield [partial(each[hook], ctx, left)]
                if not isinstance(got, tuple) or len(got) != 2:
                    raise errors.HookReturnError("a handler", hook, got, "a pair")
                ctx, left = got[0], tuple(got[1])
        self.history = list(left)
        return doors.at_call(ctx, self.ctx, None)

    def finish(self, ctx):
        for each in self.hooks:
            if "after_agent" in each:
                given = doors.at_call(ctx, self.ctx, None), tuple(self.history)
                [ctx] = yield [partial(each["after_agent"], *given)]

    async def ask(self, ctx):
        async def model(ctx, request):
            self.shown = {each.name for each in request.tools}
            given = request.messages, request.tools, request.options
            here = doors.at_call(ctx, self.ctx, None)
            try:
                return await self.config.model.invoke(here, *given)
            except Exception as error:
                blame(error, errors.ModelError(error))
                raise

        infos = [each.info for each in self.tools.values()]
        request = ModelRequest(tuple(self.history), infos, self.options)
        return await self.inside("wrap_model_call", model)(ctx, request)

    def inside(self, hook, endpoint):
        for each in reversed(self.hooks):
            if hook in each:
                endpoint = partial(around, each[hook], endpoint)
        return endpoint

    def route(self):
        if not self.history:
            raise errors.NoMessagesLeftError
        last = self.history[-1]
        calls = last.tool_calls if last.role == "assistant" else ()
        self.status = self.status if calls else "completed"
        answers = self.config.tools_config.unknown_tools_handler
        for each in calls:
            if each.name not in self.shown and answers is None:
                raise errors.ToolNotFound(each.name, self.shown)
        return calls

    def call_all(self, calls, ctx):
        own = self.config.tools_config
        results = yield [partial(self.call, each, ctx) for each in calls]
        failed = [each for each in results if isinstance(each, Exception)]
        for call, each in zip(calls, results, strict=True):
            if each not in failed and call.name in self.shown:
                yield each
                if own.return_directly.get(call.name):
                    self.status, self.answer = "returned_directly", each
        if failed:
            raise failed[0]
        self.history += results

    async def call(self, call, ctx):
        """Return the result of a call, or the error that it failed with."""

        async def endpoint(ctx, asked):
            inputs.append(asked)
            here = doors.at_call(ctx, self.ctx, call.id)
            given = here, asked.arguments, asked.call_options
            try:
                return ToolCallResult(await self.tools[call.name].invoke(*given))
            except Exception as error:
                blame(error, errors.ToolError(call.name, call.id, error))
                raise

        result = Message("tool", "", tool_call_id=call.id, name=call.name)
        asked = ToolCallInput(call.name, call.arguments, call.id, dict(self.options))
        inputs = [asked]
        try:
            if call.name not in self.shown:
                answers = self.config.tools_config.unknown_tools_handler
                return replace(result, content=answers(call.name, call.arguments))
            INSIDE.set(self.inside("wrap_invokable_tool_call", endpoint))
            here = doors.at_call(ctx, self.ctx, call.id)
            got = await self.wrapped[call.name](here, asked)
            return replace(result, content=got.result)
        except Exception as error:  # noqa: BLE001  # the other calls go on
            return error
        finally:
            tell_ignored(self.notice, call, inputs)


def around(wrap, inner, ctx, given):
    return wrap(ctx, given, inner)


def around_tool(config):
    """Return what calls the wrappers of the configuration around those of handlers."""

    async def inside(ctx, asked):
        return await INSIDE.get()(ctx, asked)

    endpoint: Any = inside
    for each in reversed(named_wraps(config)):
        endpoint = each(endpoint)
    return endpoint


async def driven(steps, messages):
    """Do what the generator asks for, and yield what it tells."""
    asks, sent = steps.go(messages), None
    while True:
        try:
            asked = asks.send(sent)
        except StopIteration:
            return
        sent = None
        if isinstance(asked, Message):
            yield asked
        elif steps.config.tools_config.sequential:
            sent = [await each() for each in asked]
        else:
            sent = await asyncio.gather(*(each() for each in asked))


class Door:
    """Does what a run asks for, and tells what it tells."""

    name = "generator"
    capabilities = (
        *("before_model", "after_model", "after_agent", "wrap_model", "wrap_tool"),
        *("several_handlers", "struct_tools", "struct_instruction", "context"),
        *("struct_tool_wrappers", "tool_call_middlewares", "unknown_tools_handler"),
        *("parallel_calls", "concurrent_calls", "equal_call_ids", "return_directly"),
        *("sequential", "next_twice", "run_locals", "run_options", "arguments_text"),
        *("lone_surrogates", "lock_step", "failed_history"),
    )

    async def build(self, config, on_notice):
        if config.max_iterations < 1:
            raise errors.MaxIterationsError(config.max_iterations)
        if len(set(map(id, config.handlers))) < len(config.handlers):
            raise errors.ConfigurationError("a handler is given twice: make two")
        hooks, text = named_hooks(config.handlers), config.instruction
        tools = {each.info.name: each for each in config.tools_config.tools}
        for each in config.middlewares:
            text += "\n" + each.additional_instruction
            tools |= {tool.info.name: tool for tool in each.additional_tools}
        wrapped = {each: around_tool(config) for each in tools}

        def start(messages, stream, options):
            steps = Steps(config, tools, wrapped, hooks, text, options)
            steps.notice = on_notice

            def left():
                how = {"iterations": steps.asked, "first": steps.first}
                how["answer"] = steps.answer
                return doors.ended(steps.history, steps.status, **how)

            return to_the_end(driven(steps, messages), left, config.name)

        return doors.door_agent(config.name, start)
