"""A right engine: a run is a task of its own, which leaves its events in a queue.

It does not wait for whoever reads them. Answers are handed on chunk by chunk.
"""

import asyncio

from refengine import (
    SEED_001,
    Message,
    ToolCallInput,
    ToolCallResult,
    ToolError,
    ToolNotFound,
)
from refengine.errors import ModelError, NoMessagesLeftError
from refengine.events import AgentEvent
from refengine.messages import join_chunks
from refengine.profile import choosing
from refengine.testing import doors
from refengine.testing.blaming import blame, named_hooks
from refengine.testing.telling import Pieces, tell_ignored, to_the_end

BEFORE = "before_model_rewrite_history"
AFTER = "after_model_rewrite_history"


class Task:
    """One run of an agent, as a task that writes into a queue."""

    def __init__(self, config, handlers, given, stream, options, notice):
        self.config, self.handlers, self.stream = config, handlers, stream
        self.notice = notice
        self.options, self.queue = options, asyncio.Queue()
        self.ctx = doors.run_context(config.name)
        self.tools = {each.info.name: each for each in config.tools_config.tools}
        first = [Message("system", config.instruction)] if config.instruction else []
        self.history, self.first = [*first, *given], (first or [None])[0]
        self.status, self.asked, self.answer = "max_iterations", 0, None

    def tell(self, message, stream=None):
        event = doors.event_of(message, self.config.name)
        if stream is not None:
            event = AgentEvent("model", event.run_path, stream=stream)
        self.queue.put_nowait(event)

    async def go(self):
        try:
            while self.asked < self.config.max_iterations and not await self.step():
                pass
        finally:
            self.queue.put_nowait(None)

    async def step(self):
        self.asked += 1
        ctx = await self.hooks(BEFORE, self.ctx)
        self.history.append(await (self.streamed if self.stream else self.invoked)(ctx))
        ctx = await self.hooks(AFTER, ctx)
        if not self.history:
            raise NoMessagesLeftError
        calls = self.history[-1].tool_calls
        if not calls:
            self.status = "completed"
            return True
        for each in calls:
            if each.name not in self.tools:
                raise ToolNotFound(each.name, self.tools)
        flags = self.config.tools_config.return_directly
        tasks = [asyncio.ensure_future(self.call(ctx, each)) for each in calls]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        failed, told = None, []
        for call, done in zip(calls, results, strict=True):
            if isinstance(done, BaseException):
                failed = failed or done
                continue
            self.tell(done)
            told.append(done)
            if flags.get(call.name):
                self.status, self.answer = "returned_directly", done
        if failed:
            raise failed
        self.history += told
        return self.answer is not None

    async def hooks(self, hook, ctx):
        left = self.history
        for found in self.handlers:
            if hook in found:
                ctx, left = await found[hook](ctx, tuple(left))
        self.history = list(left)
        return doors.at_call(ctx, self.ctx, None)

    def asks(self, method, ctx):
        infos = [each.info for each in self.tools.values()]
        return method(ctx, tuple(self.history), infos, self.options)

    async def invoked(self, ctx):
        try:
            answer = await self.asks(self.config.model.invoke, ctx)
        except Exception as error:
            raise ModelError(error) from error
        self.tell(answer)
        return answer

    async def streamed(self, ctx):
        pieces, chunks = Pieces(), []
        try:
            reader = await self.asks(self.config.model.stream, ctx)
        except Exception as error:
            raise ModelError(error) from error
        self.tell(Message("assistant"), pieces.reader)
        try:
            async for chunk in reader:
                chunks.append(chunk)
                pieces.add(chunk)
        except Exception as error:
            pieces.end(error)
            raise ModelError(error) from error
        finally:
            pieces.end()
            await reader.aclose()
        return join_chunks(chunks)

    async def call(self, ctx, call):
        async def endpoint(ctx, asked):
            inputs.append(asked)
            here = doors.at_call(ctx, self.ctx, call.id)
            try:
                found = self.tools[call.name].invoke
                return ToolCallResult(
                    await found(here, asked.arguments, asked.call_options)
                )
            except Exception as error:
                blame(error, ToolError(call.name, call.id, error))
                raise

        for found in reversed(self.handlers):
            if "wrap_invokable_tool_call" in found:
                endpoint = around(found["wrap_invokable_tool_call"], endpoint)
        here = doors.at_call(ctx, self.ctx, call.id)
        own = dict(self.options)
        asked = ToolCallInput(call.name, call.arguments, call.id, own)
        inputs = [asked]
        try:
            got = await endpoint(here, asked)
        finally:
            tell_ignored(self.notice, call, inputs)
        return Message("tool", got.result, tool_call_id=call.id, name=call.name)


def around(wrap, inner):
    async def outer(ctx, asked):
        return await wrap(ctx, asked, inner)

    return outer


class Door:
    """Its consumer may be late, and the run goes on."""

    name = "queued"
    profile = choosing(SEED_001, "same_handler_twice", "runs_twice")
    capabilities = (
        *("before_model", "after_model", "wrap_tool", "several_handlers", "streaming"),
        *("parallel_calls", "concurrent_calls", "equal_call_ids", "return_directly"),
        *("next_twice", "context", "run_locals", "run_options", "arguments_text"),
        *("lone_surrogates", "failed_history"),
    )

    async def build(self, config, on_notice):
        if config.max_iterations < 1:
            raise ValueError("max_iterations has to be at least 1")
        handlers = named_hooks(config.handlers)

        def start(messages, stream, options):
            run = Task(config, handlers, messages, stream, options, on_notice)

            async def told():
                task = asyncio.ensure_future(run.go())
                try:
                    while (event := await run.queue.get()) is not None:
                        yield event
                    await task
                finally:
                    task.cancel()

            def left():
                how = {"iterations": run.asked, "first": run.first}
                return doors.ended(run.history, run.status, answer=run.answer, **how)

            return to_the_end(told(), left, config.name)

        return doors.door_agent(config.name, start)
