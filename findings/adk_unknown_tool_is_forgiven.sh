#!/usr/bin/env bash
# google-adk 2.13.0: what a ValueError of a tool call does depends on who raised it. A call
# of a tool that does not exist passes the callback before the tool, though there is no tool,
# and then the one for errors, with a ValueError; if nobody handles that, the model is told
# {"error": ...} and the run goes on. The same class of error out of a tool that exists
# passes the same callbacks, looks the same to them, and ends the run. So an error callback
# that counts failures, or answers none, cannot tell by the class which of them goes on.
#
# Seen: the callbacks entered, and how often the model was asked and how the run ended.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet google-adk==2.13.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types

seen, asked = [], []


class Scripted(BaseLlm):
    script: list

    async def generate_content_async(self, llm_request, stream=False):
        asked.append(llm_request)
        yield LlmResponse(content=types.ModelContent(self.script.pop(0)))


class Looks(BasePlugin):
    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        seen.append("before")

    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        seen.append(type(error).__name__)


def fails() -> dict:
    """Fail."""
    raise ValueError("no")


async def shows(name):
    seen.clear(), asked.clear()
    call = types.Part(function_call=types.FunctionCall(name=name, args={}, id="1"))
    model = Scripted(model="scripted", script=[call, "ok"])
    agent = LlmAgent(name="a", model=model, tools=[fails])
    runner = InMemoryRunner(agent, app_name="app", plugins=[Looks("looks")])
    await runner.session_service.create_session(
        app_name="app", user_id="u", session_id="s"
    )
    end = "ended well"
    try:
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent("hi")
        ):
            pass
    except ValueError:
        end = "raised"
    print(name, seen, len(asked), end)


for name in ("gone", "fails"):
    asyncio.run(shows(name))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "gone ['before', 'ValueError'] 2 ended well
fails ['before', 'ValueError'] 1 raised"
