"""A right engine that only invokes: one call after the other, and no hooks at all.

Its history is a list of dicts, as a vendor's interface has it.
"""

from refengine import Message, ToolCall, ToolError, ToolNotFound
from refengine.errors import ModelError
from refengine.testing import doors
from refengine.testing.blaming import blame
from refengine.testing.telling import to_the_end


def as_dict(message):
    calls = [(each.id, each.name, each.arguments) for each in message.tool_calls]
    found = {"role": message.role, "content": message.content, "calls": calls}
    names = ("tool_call_id", "name", "id", "extra")
    return {**found, **{each: getattr(message, each) for each in names}}


def as_message(found):
    rest = {key: value for key, value in found.items() if key != "calls"}
    return Message(**rest, tool_calls=tuple(ToolCall(*each) for each in found["calls"]))


class Chat:
    """One conversation with a model, which may call functions."""

    def __init__(self, model, tools, limit, ctx):
        self.model, self.limit, self.ctx = model, limit, ctx
        self.tools = {each.info.name: each for each in tools}
        self.infos = [each.info for each in self.tools.values()]
        self.history, self.asked, self.status = [], 0, "max_iterations"

    async def go(self, given):
        self.history = list(map(as_dict, given))
        while self.asked < self.limit:
            answer = await self.ask()
            yield answer
            if not answer.tool_calls:
                self.status = "completed"
                return
            for call in answer.tool_calls:
                if call.name not in self.tools:
                    raise ToolNotFound(call.name, self.tools)
            failed, results = None, []
            for call in answer.tool_calls:
                try:
                    text = await self.function(call)
                except Exception as error:  # noqa: BLE001  # the others run first
                    failed = failed or error
                    continue
                result = Message("tool", text, tool_call_id=call.id, name=call.name)
                results.append(as_dict(result))
                yield result
            if failed is not None:
                raise failed
            self.history += results

    async def ask(self):
        sent = [as_message(each) for each in self.history]
        self.asked += 1
        try:
            answer = await self.model.invoke(self.ctx, sent, self.infos, {})
        except Exception as error:
            raise ModelError(error) from error
        self.history.append(as_dict(answer))
        return answer

    async def function(self, call):
        here = doors.at_call(self.ctx, self.ctx, call.id)
        try:
            return await self.tools[call.name].invoke(here, call.arguments, {})
        except Exception as error:
            blame(error, ToolError(call.name, call.id, error))
            raise


class Door:
    """Has no place for hooks, and does not stream."""

    name = "sequential"
    capabilities = (
        *("parallel_calls", "equal_call_ids", "arguments_text", "lock_step"),
        "failed_history",
    )

    async def build(self, config, on_notice):
        if config.max_iterations < 1:
            raise ValueError("max_iterations has to be at least 1")
        tools = config.tools_config.tools

        def start(messages, stream, options):
            ctx = doors.run_context(config.name)
            chat = Chat(config.model, tools, config.max_iterations, ctx)
            text = config.instruction
            first = [Message("system", text)] if text else []

            def left():
                kept = [as_message(each) for each in chat.history]
                own = kept[0] if first else None
                return doors.ended(kept, chat.status, iterations=chat.asked, first=own)

            return to_the_end(chat.go([*first, *messages]), left, config.name)

        return doors.door_agent(config.name, start)
