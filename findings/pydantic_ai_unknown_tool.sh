#!/usr/bin/env bash
# pydantic-ai 2.68.0: a call of a tool that does not exist passes no tool hook at all,
# neither those around validation nor those around execution: a capability that counts,
# limits or logs tool calls never hears of it. The first such call is answered with an
# error for the model; the second one of the same name ends the run, with the defaults.
#
# Seen: no hook was entered, the model was asked twice, and the run raised
# UnexpectedModelBehavior.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet pydantic-ai-slim==2.68.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

hooks, asked = [], []


class Counts(AbstractCapability):
    async def wrap_tool_validate(self, ctx, *, call, tool_def, args, handler):
        hooks.append("validate")
        return await handler(args)

    async def on_tool_validate_error(self, ctx, *, call, tool_def, args, error):
        hooks.append("validate error")
        raise error

    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        hooks.append("execute")
        return await handler(args)


async def say(messages, info):
    asked.append(messages)
    return ModelResponse([ToolCallPart("gone", "{}")])


try:
    asyncio.run(Agent(FunctionModel(say), capabilities=[Counts()]).run("hi"))
except Exception as error:
    print(hooks, len(asked), type(error).__name__)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py")
echo "$SEEN"
test "$SEEN" = "[] 2 UnexpectedModelBehavior"
