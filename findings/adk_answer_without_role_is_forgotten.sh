#!/usr/bin/env bash
# google-adk 2.13.0: a content without a role is shown and kept, and never sent again. A
# callback that answers in place of the model with types.Content(parts=[...]), whose role is
# None unless it is given, has its answer in the events and in the session like any other;
# the request of the next turn leaves it out, without a word, so that the model sees two
# questions of the user in a row. types.ModelContent gives the role by itself.
#
# Seen: what the user was shown, how many events the session keeps, and the texts of the
# request of the second turn, by what the callback returns.
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

asked = []


class Says(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        asked.append([each.parts[0].text for each in llm_request.contents])
        yield LlmResponse(content=types.ModelContent("ok"))


async def shows(answer):
    asked.clear()
    answers = [answer]
    agent = LlmAgent(
        name="a",
        model=Says(model="says"),
        before_model_callback=lambda callback_context, llm_request: (
            LlmResponse(content=answers.pop()) if answers else None
        ),
    )
    runner = InMemoryRunner(agent, app_name="app")
    of = {"user_id": "u", "session_id": "s"}
    await runner.session_service.create_session(app_name="app", **of)
    shown = []
    for text in ("first", "second"):
        message = types.UserContent(text)
        async for event in runner.run_async(**of, new_message=message):
            shown.append(event.content.parts[0].text)
    kept = await runner.session_service.get_session(app_name="app", **of)
    print(answer.role, shown, len(kept.events), asked)


part = types.Part(text="not today")
for answer in (types.Content(parts=[part]), types.ModelContent(part)):
    asyncio.run(shows(answer))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "None ['not today', 'ok'] 4 [['first', 'second']]
model ['not today', 'ok'] 4 [['first', 'not today', 'second']]"
