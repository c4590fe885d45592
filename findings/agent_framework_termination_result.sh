#!/usr/bin/env bash
# agent-framework-core 1.23.0: a MiddlewareTermination can carry the result with which the run
# is to end. Of the three kinds of middleware only the one for functions takes it from there.
# Raised around the agent it makes run() return None, which is no response, and a stream hands
# out nothing; raised around the chat client it becomes an AttributeError about usage_details
# in both. The same result, put into the context before the same exception is raised, is
# returned by all three, and streamed by none of the outer two, which refuse it as no stream.
#
# Seen: what comes of a run and of a stream, by the kind of middleware and the place of the
# result.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet agent-framework-core==1.23.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from agent_framework import (
    Agent, AgentResponse, BaseChatClient, ChatMiddlewareLayer, ChatResponse,
    ChatResponseUpdate, Content, FunctionInvocationLayer, Message, MiddlewareTermination,
    ResponseStream, agent_middleware, chat_middleware, function_middleware, tool,
)


class Scripted(BaseChatClient):
    def _inner_get_response(self, *, messages, stream, options, **_):
        call = Content.from_function_call("1", "look", arguments="{}")

        async def answers():
            return ChatResponse(messages=[Message("assistant", [call])])

        async def streams():
            yield ChatResponseUpdate(role="assistant", contents=[call])

        if stream:
            return ResponseStream(streams(), finalizer=ChatResponse.from_updates)
        return answers()


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, Scripted):
    pass


@tool(approval_mode="never_require")
def look() -> str:
    """Look."""
    return "seen"


ENDS = [Message("assistant", ["early"])]
KINDS = (
    (agent_middleware, AgentResponse(messages=ENDS)),
    (chat_middleware, ChatResponse(messages=ENDS)),
    (function_middleware, "early"),
)


async def comes(kind, result, carried, stream):
    @kind
    async def stops(context, call_next):
        if carried:
            raise MiddlewareTermination(result=result)
        context.result = result
        raise MiddlewareTermination

    agent = Agent(Client(), tools=[look], middleware=[stops])
    try:
        if not stream:
            found = await agent.run("hi")
        else:
            updates = agent.run("hi", stream=True)
            found = [update async for update in updates] and await updates.get_final_response()
    except Exception as error:
        return type(error).__name__
    last = found.messages[-1].contents[-1] if found else None
    return last and (last.text or last.result)


async def main():
    for kind, result in KINDS:
        for carried in (True, False):
            ways = [await comes(kind, result, carried, stream) for stream in (False, True)]
            place = "exception" if carried else "context"
            print(kind.__name__, f"{place}: run {ways[0]}, stream {ways[1]}")


asyncio.run(main())
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "agent_middleware exception: run None, stream None
agent_middleware context: run early, stream ValueError
chat_middleware exception: run AttributeError, stream AttributeError
chat_middleware context: run early, stream ValueError
function_middleware exception: run early, stream early
function_middleware context: run early, stream early"
