#!/usr/bin/env bash
# pydantic-ai 2.68.0: a wrap_model_request that leaves a tool out of one request puts words
# into the conversation. When the next request has the tool again, a message of the user
# that says so is added to the history by the framework, and is sent with every request
# from then on: hiding a tool turn by turn changes what the model is told.
#
# Seen: the second request ends on a text that names the tool; nobody wrote it.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet pydantic-ai-slim==2.68.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio
from dataclasses import replace

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

told, calls = [], []


class HidesOnce(AbstractCapability):
    async def wrap_model_request(self, ctx, *, request_context, handler):
        parameters = request_context.model_request_parameters
        if not calls:
            kept = [t for t in parameters.function_tools if t.name != "delete"]
            parameters = replace(parameters, function_tools=kept)
        calls.append(1)
        return await handler(
            replace(request_context, model_request_parameters=parameters)
        )


async def say(messages, info):
    told.append(str(getattr(messages[-1].parts[-1], "content", "")))
    if len(told) > 1:
        return ModelResponse([TextPart("ok")])
    return ModelResponse([ToolCallPart("look", {}, tool_call_id="1")])


def look() -> str:
    return "seen"


def delete() -> str:
    return "gone"


agent = Agent(FunctionModel(say), tools=[look, delete], capabilities=[HidesOnce()])
asyncio.run(agent.run("hi"))
print(told[0], "|", told[1].replace("\n", " "))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py")
echo "$SEEN"
test "$SEEN" = "hi | <system>The following tool(s) are now available: \`delete\`</system>"
