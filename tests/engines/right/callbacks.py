"""A right engine of callbacks, which goes on when its listener has heard of a step."""

import asyncio
from functools import partial
from typing import Any

from refengine import SEED_001, Message, ToolCallInput, ToolCallResult, errors
from refengine.events import AgentEvent
from refengine.messages import join_chunks
from refengine.profile import choosing
from refengine.testing import doors
from refengine.testing.blaming import blame, named_hooks
from refengine.testing.telling import (
    Pieces,
    in_lock_step,
    tell_ignored,
    to_the_end,
)

BEFORE, AFTER = "before_model_rewrite_history", "after_model_rewrite_history"
WRAP = "wrap_invokable_tool_call"


class Machine:
    """Goes from callback to callback, until its ``end`` is there."""

    def __init__(self, config, handlers, given, options, notice):
        self.config, self.handlers, self.options = config, handlers, options
        self.notice = notice
        self.ctx = self.here = doors.run_context(config.name)
        self.tools = {each.info.name: each for each in config.tools_config.tools}
        self.history, self.asked, self.working = list(given), 0, set()
        self.status = "max_iterations"
        self.listener: Any = None
        self.end: Any = None

    def when(self, coroutine, then):
        """Call ``then`` with what comes of it, if anything; an error ends the run."""

        def settled(task):
            self.working.discard(task)
            if not task.cancelled():
                try:
                    got = task.result()
                    then() if got is None else then(got)
                except Exception as error:  # noqa: BLE001  # of the task or a step
                    self.end.set_exception(error)

        task = asyncio.ensure_future(coroutine)
        self.working.add(task)
        task.add_done_callback(settled)

    def begin(self):
        if self.asked == self.config.max_iterations:
            self.end.set_result(None)
            return
        self.asked += 1
        self.edit(BEFORE, self.ctx, lambda: self.when(self.ask(), self.answered))

    def edit(self, hook, ctx, then):
        hooks = iter([each[hook] for each in self.handlers if hook in each])

        def following(got=None):
            if not isinstance(got, tuple) or len(got) != 2:
                raise errors.HookReturnError("a handler", hook, got, "a pair")
            ctx, left = got[0], tuple(got[1])
            for found in hooks:
                self.when(found(ctx, left), following)
                return
            self.history, self.here = list(left), doors.at_call(ctx, self.ctx, None)
            then()

        following((ctx, tuple(self.history)))

    async def ask(self):
        infos = [each.info for each in self.tools.values()]
        given = self.here, tuple(self.history), infos, self.options
        chunks = []
        try:
            if not self.listener.streams:
                return await self.config.model.invoke(*given)
            async for chunk in await self.config.model.stream(*given):
                chunks.append(chunk)
                self.listener.token(chunk)
        except Exception as error:
            if chunks:
                self.listener.pieces.end(error)
            raise errors.ModelError(error) from error
        return join_chunks(chunks)

    def answered(self, answer):
        self.history.append(answer)
        edit = partial(self.edit, AFTER, self.here, self.route)
        self.when(self.listener.answer(answer), edit)

    def route(self):
        if not self.history:
            raise errors.NoMessagesLeftError
        last = self.history[-1]
        calls = last.tool_calls if last.role == "assistant" else ()
        if not calls:
            self.status = "completed"
            self.end.set_result(None)
        for each in calls:
            if each.name not in self.tools:
                raise errors.ToolNotFound(each.name, self.tools)
        results = {}
        for at, each in enumerate(calls):
            self.when(self.call(each), partial(self.had, results, at, len(calls)))

    def had(self, results, at, wanted, got):
        results[at] = got
        if len(results) == wanted:
            found = [results[each] for each in range(wanted)]
            worked = [each for each in found if isinstance(each, Message)]
            self.tell(worked, iter(worked), [e for e in found if e not in worked])

    def tell(self, worked, left, failed):
        for found in left:
            again = partial(self.tell, worked, left, failed)
            self.when(self.listener.tell(found), again)
            return
        if failed:
            raise failed[0]
        self.history += worked
        self.begin()

    async def call(self, call):
        async def chain(ctx, asked):
            inputs.append(asked)
            here = doors.at_call(ctx, self.ctx, call.id)
            given = here, asked.arguments, asked.call_options
            try:
                return ToolCallResult(await self.tools[call.name].invoke(*given))
            except Exception as error:
                blame(error, errors.ToolError(call.name, call.id, error))
                raise

        for each in reversed(self.handlers):
            if WRAP in each:
                chain = around(each[WRAP], chain)
        given = ToolCallInput(call.name, call.arguments, call.id, dict(self.options))
        inputs = [given]
        try:
            got = await chain(doors.at_call(self.here, self.ctx, call.id), given)
            return Message("tool", got.result, tool_call_id=call.id, name=call.name)
        except Exception as error:  # noqa: BLE001  # the other calls go on
            return error
        finally:
            tell_ignored(self.notice, call, inputs)


def around(wrap, inner):
    return lambda ctx, asked: wrap(ctx, asked, inner)


class Listener:
    def __init__(self, tell, path, streams):
        self.tell, self.path, self.streams = tell, path, streams
        self.pieces: Any = None
        self.told: Any = None

    def token(self, chunk):
        if self.pieces is None:
            self.pieces = Pieces()
            event = AgentEvent("model", (self.path,), stream=self.pieces.reader)
            self.told = asyncio.ensure_future(self.tell(event))
        self.pieces.add(chunk)

    async def answer(self, message):
        if self.pieces is None:
            await self.tell(message)
            return
        self.pieces.end()
        await self.told
        self.pieces = None


class Door:
    name = "callbacks"
    profile = choosing(SEED_001, "same_handler_twice", "runs_twice")
    capabilities = (
        *("before_model", "after_model", "wrap_tool", "several_handlers", "streaming"),
        *("parallel_calls", "equal_call_ids", "lock_step", "failed_history"),
        *("next_twice", "run_locals", "run_options", "arguments_text", "context"),
        "concurrent_calls",
    )

    async def build(self, config, on_notice):
        if config.max_iterations < 1:
            raise errors.MaxIterationsError(config.max_iterations)
        handlers = named_hooks(config.handlers)
        first = [Message("system", config.instruction)] if config.instruction else []

        def start(messages, stream, options):
            given = [*first, *messages]
            machine = Machine(config, handlers, given, options, on_notice)

            async def work(tell):
                machine.listener = Listener(tell, config.name, stream)
                machine.end = asyncio.get_running_loop().create_future()
                machine.begin()
                try:
                    await machine.end
                finally:
                    for each in machine.working:
                        each.cancel()

            def left():
                how = {"iterations": machine.asked, "first": (first or [None])[0]}
                return doors.ended(machine.history, machine.status, **how)

            return to_the_end(in_lock_step(work), left, config.name)

        return doors.door_agent(config.name, start)
