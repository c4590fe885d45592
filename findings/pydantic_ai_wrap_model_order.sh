#!/usr/bin/env bash
# pydantic-ai 2.68.0: of two capabilities the first is the outermost, but only among hooks
# of one kind. A wrap_model_request of the last capability still stands around the
# before_model_request of the first one, so what logs "what the model is asked" there sees
# the messages from before the trimming that stands in front of it in the list.
#
# Expected of [Trim(), Log()] by the rule of the list: Log is inside Trim and is given 1
# message. Seen: Log is entered first, and is given 3.
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
from pydantic_ai.messages import (
    ModelRequest, ModelResponse, TextPart, UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

seen = []


class Trim(AbstractCapability):
    async def before_model_request(self, ctx, request_context):
        seen.append("trim")
        return replace(request_context, messages=request_context.messages[-1:])


class Log(AbstractCapability):
    async def wrap_model_request(self, ctx, *, request_context, handler):
        seen.append(f"log {len(request_context.messages)}")
        return await handler(request_context)


async def say(messages, info):
    seen.append(f"model {len(messages)}")
    return ModelResponse([TextPart("ok")])


earlier = [ModelRequest([UserPromptPart("a")]), ModelResponse([TextPart("b")])]
agent = Agent(FunctionModel(say), capabilities=[Trim(), Log()])
asyncio.run(agent.run("c", message_history=earlier))
print(seen)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py")
echo "$SEEN"
test "$SEEN" = "['log 3', 'trim', 'model 1']"
