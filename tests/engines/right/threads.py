"""A right engine of plain functions: each call of a message runs in its own thread.

Its model, tools and hooks are plain, too: its door asks the loop for them, and waits.
"""

import asyncio
from functools import partial
from typing import Any

from refengine import Message, ToolCallInput, ToolCallResult, errors
from refengine.testing import doors
from refengine.testing.blaming import blame, named_hooks
from refengine.testing.telling import tell_ignored, to_the_end

HOOKS = {
    "before": "before_model_rewrite_history",
    "after": "after_model_rewrite_history",
}


class Loop:
    """What plain functions in threads ask the event loop for."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()

    def plain(self, function):
        """Return a coroutine function as a plain one that waits."""

        def call(*given):
            asked = asyncio.run_coroutine_threadsafe(function(*given), self.loop)
            return asked.result()

        return call


class Chat:
    """A conversation; ``tell`` is called with every message that it adds."""

    def __init__(self, model, tools, handlers, limit, ctx, tell):
        self.model, self.tools, self.handlers = model, tools, handlers
        self.limit, self.ctx, self.tell = limit, ctx, tell
        self.ignored: Any = None
        self.history, self.asked = [], 0
        self.status, self.answer = "max_iterations", None

    async def go(self, given, direct):
        self.history = given
        while self.status == "max_iterations" and self.asked < self.limit:
            calls, ctx = await asyncio.to_thread(self.turn)
            await self.results(calls, ctx)
            for each in self.history[-len(calls) :] if calls else ():
                if each.name in direct:
                    self.status, self.answer = "returned_directly", each

    def turn(self):
        self.asked += 1
        ctx = self.edited("before", self.ctx)
        try:
            answer = self.model(ctx, tuple(self.history))
        except Exception as error:
            raise errors.ModelError(error) from error
        self.history.append(answer)
        self.tell(answer)
        ctx = self.edited("after", ctx)
        if not self.history:
            raise errors.NoMessagesLeftError
        last = self.history[-1]
        calls = last.tool_calls if last.role == "assistant" else ()
        self.status = self.status if calls else "completed"
        for each in calls:
            if each.name not in self.tools:
                raise errors.ToolNotFound(each.name, self.tools)
        return calls, ctx

    def edited(self, hook, ctx):
        left = tuple(self.history)
        for each in self.handlers:
            if hook in each:
                ctx, left = each[hook](ctx, left)
        self.history = list(left)
        return doors.at_call(ctx, self.ctx, None)

    async def results(self, calls, ctx):
        """Run all calls, each in a thread, and put their results in order."""
        work = (asyncio.to_thread(self.result, ctx, each) for each in calls)
        done = await asyncio.gather(*work, return_exceptions=True)
        failed = [each for each in done if isinstance(each, Exception)]
        for each in done:
            if each not in failed:
                self.tell(each)
        if failed:
            raise failed[0]
        self.history += done

    def result(self, ctx, call):
        inputs = []
        chain = partial(self.tool, call, inputs)
        for each in reversed(self.handlers):
            if "wrap" in each:
                chain = partial(around, each["wrap"], chain)
        asked = ToolCallInput(call.name, call.arguments, call.id)
        inputs.append(asked)
        try:
            text = chain(doors.at_call(ctx, self.ctx, call.id), asked).result
        finally:
            self.ignored(call, inputs)
        return Message("tool", text, tool_call_id=call.id, name=call.name)

    def tool(self, call, inputs, ctx, asked):
        inputs.append(asked)
        try:
            here = doors.at_call(ctx, self.ctx, call.id)
            return ToolCallResult(self.tools[call.name](here, asked.arguments, {}))
        except Exception as error:
            blame(error, errors.ToolError(call.name, call.id, error))
            raise


def around(wrap, inner, ctx, asked):
    """Call a wrapper: a plain function that may call what is inside it."""
    return wrap(ctx, asked, inner)


def plain_hooks(hooks, loop):
    """Return the hooks of a handler as plain functions."""
    found = {}
    for own, name in HOOKS.items():
        if name in hooks:
            found[own] = partial(checked, name, loop.plain(hooks[name]))
    if "wrap_invokable_tool_call" in hooks:
        call = loop.plain(hooks["wrap_invokable_tool_call"])
        found["wrap"] = lambda ctx, asked, inner: call(ctx, asked, in_thread(inner))
    return found


def checked(name, hook, ctx, messages):
    """Call a hook around the model; one that returns no pair is refused."""
    got = hook(ctx, messages)
    if not isinstance(got, tuple) or len(got) != 2:
        raise errors.HookReturnError("a handler", name, got, "a pair")
    return got


def in_thread(function):
    """Return a plain function as a coroutine function, which runs it in a thread."""

    async def call(*given):
        return await asyncio.to_thread(function, *given)

    return call


class Door:
    """Its events go through a queue, and nobody waits for who reads them."""

    name = "threads"
    capabilities = (
        *("before_model", "after_model", "wrap_tool", "several_handlers", "context"),
        *("parallel_calls", "concurrent_calls", "equal_call_ids", "return_directly"),
        *("next_twice", "run_locals", "arguments_text", "failed_history"),
    )

    async def build(self, config, on_notice):
        if config.max_iterations < 1:
            raise errors.MaxIterationsError(config.max_iterations)
        if len(set(map(id, config.handlers))) < len(config.handlers):
            raise errors.ConfigurationError("a handler is given twice: make two")
        named = named_hooks(config.handlers)
        tools = {each.info.name: each for each in config.tools_config.tools}
        infos = [each.info for each in tools.values()]
        flags = config.tools_config.return_directly
        direct = {name for name, flag in flags.items() if flag}
        first = [Message("system", config.instruction)] if config.instruction else []

        def start(messages, stream, options):
            loop, queue = Loop(), asyncio.Queue()

            async def model(ctx, history):
                return await config.model.invoke(ctx, history, infos, {})

            def tell(message):
                loop.loop.call_soon_threadsafe(queue.put_nowait, message)

            def ignored(*called):
                told = partial(tell_ignored, on_notice, *called)
                loop.loop.call_soon_threadsafe(told)

            chat = Chat(
                loop.plain(model),
                {name: loop.plain(each.invoke) for name, each in tools.items()},
                [plain_hooks(each, loop) for each in named],
                config.max_iterations,
                doors.run_context(config.name),
                tell,
            )
            chat.ignored = ignored

            async def told():
                task = asyncio.ensure_future(chat.go([*first, *messages], direct))
                task.add_done_callback(lambda _: queue.put_nowait(None))
                while (event := await queue.get()) is not None:
                    yield event
                await task

            def left():
                how = {"iterations": chat.asked, "first": (first or [None])[0]}
                return doors.ended(chat.history, chat.status, answer=chat.answer, **how)

            return to_the_end(told(), left, config.name)

        return doors.door_agent(config.name, start)
