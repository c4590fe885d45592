#!/usr/bin/env bash
# openai-agents 0.24.0 (Python): what on_llm_end may do to an answer depends on what it edits
# and how. A text that is edited in place is the final output and is kept in the session, but
# a stream has told the text of the model. Arguments of a call that are edited in place end
# the run before any tool, in an error that blames the model: it is said to have reused the
# id of a call. And an item that is taken out of the list, or replaced there by an edited
# copy, is run as it was, without a word.
#
# Seen: what was run and returned, what the session keeps as answer, and what was streamed.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet openai-agents==0.24.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from agents import (
    Agent, RunHooks, Runner, SQLiteSession, function_tool, set_tracing_disabled,
)
from agents.testing import ScriptedModel, assistant_message, function_call

set_tracing_disabled(True)
ran = []


@function_tool
async def pay(amount: int) -> str:
    ran.append(amount)
    return "paid"


class Edits(RunHooks):
    def __init__(self, kind):
        self.kind = kind

    async def on_llm_end(self, context, agent, response):
        item = response.output[0]
        if item.type == "message" and self.kind == "text":
            item.content[0].text = "masked"
        if item.type == "function_call" and self.kind == "arguments":
            item.arguments = '{"amount": 2}'
        if item.type == "function_call" and self.kind == "item":
            response.output[0] = item.model_copy(update={"arguments": '{"amount": 2}'})
        if item.type == "function_call" and self.kind == "list":
            response.output.clear()


async def shows(kind):
    ran.clear()
    script = [function_call("pay", {"amount": 1}, call_id="1")], [assistant_message("ok")]
    agent = Agent("a", model=ScriptedModel(script), tools=[pay])
    session = SQLiteSession(kind)
    run = Runner.run_streamed(agent, "pay", hooks=Edits(kind), session=session)
    try:
        async for event in run.stream_events():
            if getattr(event, "name", "") == "message_output_created":
                streamed = event.item.raw_item.content[0].text
    except Exception as error:
        print(f"{kind}: ran {ran}; {type(error).__name__}: {error}")
        return
    kept = (await session.get_items())[-1]["content"][0]["text"]
    print(f"{kind}: ran {ran}; returned {run.final_output}, kept {kept}, streamed {streamed}")


for kind in ("text", "arguments", "item", "list"):
    asyncio.run(shows(kind))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "text: ran [1]; returned masked, kept masked, streamed ok
arguments: ran []; ModelBehaviorError: Model reused a tool call ID for a different invocation. \
Use a unique call ID for each tool invocation.
item: ran [1]; returned ok, kept ok, streamed ok
list: ran [1]; returned ok, kept ok, streamed ok"
