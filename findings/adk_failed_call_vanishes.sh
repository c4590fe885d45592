#!/usr/bin/env bash
# google-adk 2.13.0: of three parallel calls the second raises, and the run ends in its
# error. The results of the other two are kept in the session nevertheless, so the session
# has three calls and two results. The next turn does not send it so, nor refuses it: the
# model is shown two calls and two results, as if it had never made the one that failed. So
# it can neither excuse nor repeat it, and whoever reads the session to know what the model
# was told is wrong.
#
# Seen: ids of calls and results, in the session and in the next turn's request.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet google-adk==2.13.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

WHO = {"app_name": "app", "user_id": "u", "session_id": "s"}
requests = []


class Scripted(BaseLlm):
    script: list

    async def generate_content_async(self, llm_request, stream=False):
        requests.append(llm_request.contents)
        yield LlmResponse(content=types.ModelContent(self.script.pop(0)))


def look() -> dict:
    """Look."""
    return {"seen": 1}


def fails() -> dict:
    """Fail."""
    raise ValueError("no")


def call(name, number):
    return types.Part(function_call=types.FunctionCall(name=name, args={}, id=number))


def ids(contents):
    parts = [part for content in contents for part in content.parts or []]
    calls = [part.function_call.id for part in parts if part.function_call]
    results = [part.function_response.id for part in parts if part.function_response]
    return f"calls {' '.join(calls)}, results {' '.join(results)}"


async def turn(runner, text):
    message = types.UserContent(text)
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
        pass


async def main():
    calls = [call("look", "1"), call("fails", "2"), call("look", "3")]
    model = Scripted(model="scripted", script=[calls, "ok"])
    agent = LlmAgent(name="a", model=model, tools=[look, fails])
    runner = InMemoryRunner(agent, app_name="app")
    await runner.session_service.create_session(**WHO)
    try:
        await turn(runner, "hi")
    except ValueError:
        print("raised")
    session = await runner.session_service.get_session(**WHO)
    print("session:", ids(event.content for event in session.events if event.content))
    await turn(runner, "and now?")
    print("request:", ids(requests[-1]))


asyncio.run(main())
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "raised
session: calls 1 2 3, results 1 3
request: calls 1 3, results 1 3"
