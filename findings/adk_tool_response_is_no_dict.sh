#!/usr/bin/env bash
# google-adk 2.13.0: the callbacks behind a tool are annotated to get `tool_response: dict`,
# and get what the tool returned as it is: a text for a tool that returns one, None, a list.
# The model is sent {"result": ...} for each of these, which is made after the callbacks. So
# a guard that looks for `tool_response["result"]`, as it stands in the session and in each
# request, raises TypeError at the first tool that returns a text, and one that tests
# isinstance(tool_response, dict) lets all of them pass.
#
# Seen: what the callback got and what the model was sent, by what the tool returns.
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


class Calls(BaseLlm):
    sent: list = []

    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[0].function_response
        if last is None:
            call = types.FunctionCall(name="look", args={}, id="1")
            yield LlmResponse(content=types.ModelContent(types.Part(function_call=call)))
            return
        self.sent.append(last.response)
        yield LlmResponse(content=types.ModelContent("ok"))


async def shows(returned):
    got = []

    def look():
        """Look."""
        return returned

    def after(tool, args, tool_context, tool_response: dict):
        got.append(tool_response)

    model = Calls(model="calls")
    agent = LlmAgent(name="a", model=model, tools=[look], after_tool_callback=after)
    runner = InMemoryRunner(agent, app_name="app")
    of = {"user_id": "u", "session_id": "s"}
    await runner.session_service.create_session(app_name="app", **of)
    async for _ in runner.run_async(**of, new_message=types.UserContent("hi")):
        pass
    print(f"{got[0]!r} -> {model.sent[-1]!r}")


for returned in ({"text": "seen"}, "seen", ["seen"], None):
    asyncio.run(shows(returned))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "{'text': 'seen'} -> {'text': 'seen'}
'seen' -> {'result': 'seen'}
['seen'] -> {'result': ['seen']}
None -> {'result': None}"
