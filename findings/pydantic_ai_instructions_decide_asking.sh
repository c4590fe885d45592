#!/usr/bin/env bash
# pydantic-ai 2.68.0: whether an agent asks its model at all can hang on its instructions.
# Run on a history that ends with an answer, and without a new prompt, an agent without
# instructions returns that old answer and asks nobody; the same agent with any
# instructions asks the model, and returns a new one.
#
# Seen: "old" after 0 requests without instructions, "new" after 1 with them.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet pydantic-ai-slim==2.68.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest, ModelResponse, TextPart, UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

asked = []


async def say(messages, info):
    asked.append(messages)
    return ModelResponse([TextPart("new")])


def answer(**more):
    asked.clear()
    history = [ModelRequest([UserPromptPart("a")]), ModelResponse([TextPart("old")])]
    agent = Agent(FunctionModel(say), **more)
    return asyncio.run(agent.run(message_history=history)).output, len(asked)


print(answer(), answer(instructions="Be kind."))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py")
echo "$SEEN"
test "$SEEN" = "('old', 0) ('new', 1)"
