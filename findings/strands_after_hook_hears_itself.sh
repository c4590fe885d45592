#!/usr/bin/env bash
# strands-agents 1.62.0 (Python): a hook behind a tool that raises does not end the run. The
# tool's result is thrown away for an error with the hook's words, all hooks behind the tool
# are called once more for the same call, now with that error, and if none raises then, the
# model is told that the tool failed. So a hook that only logs can make a payment that went
# through be made again, and what counts calls behind tools counts one call twice, first as a
# success and then as a failure. A hook behind the model that raises is called once more, too,
# but its error reaches the caller.
#
# Seen: what a second hook hears of one call, what the model is told, and how often the tool
# ran, where a hook raises at its first call only; then the same of hooks behind the model.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet strands-agents==1.62.0
cat >"$WORK/shows.py" <<'PYTHON'
from strands import Agent, tool
from strands.hooks import AfterModelCallEvent, AfterToolCallEvent
from strands.models import Model

USE = {"toolUse": {"toolUseId": "1", "name": "pay"}}


class Scripted(Model):
    def update_config(self, **_): ...
    def get_config(self): ...
    def structured_output(self, *_, **__): ...

    async def stream(self, messages, *_, **__):
        calls = len(messages) == 1
        delta = {"toolUse": {"input": "{}"}} if calls else {"text": "ok"}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": USE if calls else {}}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def shows(event_type, outcome):
    heard, raised, paid = [], [], []

    @tool
    def pay() -> str:
        """Pay."""
        paid.append(1)
        return "paid"

    def logs(event):
        if not raised:
            raised.append(1)
            raise OSError("the log is full")

    agent = Agent(Scripted(), tools=[pay], callback_handler=None)
    agent.add_hook(logs, event_type)
    agent.add_hook(lambda event: heard.append(outcome(event)), event_type)
    try:
        agent("pay")
        result = agent.messages[2]["content"][0]["toolResult"]
        end = f"told {result['status']}, {result['content'][0]['text']}"
    except OSError as error:
        end = f"raised {error}"
    print(f"heard {heard}; {end}; paid {len(paid)}")


shows(AfterToolCallEvent, lambda event: event.result["status"])
shows(AfterModelCallEvent, lambda event: "error" if event.exception else "success")
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "heard ['success', 'error']; told error, Error: the log is full; paid 1
heard ['success', 'error']; raised the log is full; paid 0"
