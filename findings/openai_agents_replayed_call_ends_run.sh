#!/usr/bin/env bash
# openai-agents 0.24.0 (Python): an id of a call stands for one call in a whole run. A model
# whose server numbers the calls of each answer anew, and which asks for the same payment
# twice, has it made once: the second call is taken for a replay and left out, without a
# result and without a word. If a text came with it, that text is the final output, so a run
# that announces a payment ends as completed before the model is asked again; if none did,
# the model is asked again, as if it had said nothing. The same id with other arguments is
# an error that ends the run.
#
# Seen: the payments made, how often the model was asked, and how the run ended.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet openai-agents==0.24.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

set_tracing_disabled(True)
paid = []


@function_tool
async def pay(amount: int) -> str:
    paid.append(amount)
    return "paid"


def call(amount):
    return function_call("pay", {"amount": amount}, call_id="call_0")


async def shows(*second):
    paid.clear()
    model = ScriptedModel([[call(1)], [*second], [assistant_message("done")]])
    agent = Agent("a", model=model, tools=[pay])
    try:
        result = await Runner.run(agent, "pay twice")
        ended = f"returned {result.final_output!r}"
    except Exception as error:
        ended = f"raised {type(error).__name__}"
    print(f"paid {paid}, asked {len(model.calls)} times, {ended}")


asyncio.run(shows(assistant_message("Paying again."), call(1)))
asyncio.run(shows(call(1)))
asyncio.run(shows(call(2)))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "paid [1], asked 2 times, returned 'Paying again.'
paid [1], asked 3 times, returned 'done'
paid [1], asked 2 times, raised ModelBehaviorError"
