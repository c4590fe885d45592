#!/usr/bin/env bash
# strands-agents 1.62.0 (Python): what an agent raises when its model fails depends on the turn.
# An error of the first request reaches the caller as it is; the same error of any request
# behind a tool call comes inside an EventLoopException. So an "except" that names the model's
# own class, to wait and try again, say, works in every test in which the model fails at once,
# and misses the failure in the middle of a run.
#
# Seen: the class of what is raised, by how many tool calls were made before the model failed.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet strands-agents==1.62.0
cat >"$WORK/shows.py" <<'PYTHON'
from strands import Agent, tool
from strands.models import Model


class Scripted(Model):
    def __init__(self, calls):
        self.calls = calls

    def update_config(self, **_): ...
    def get_config(self): ...
    def structured_output(self, *_, **__): ...

    async def stream(self, messages, *_, **__):
        turn = len(messages) // 2
        if turn == self.calls:
            raise ConnectionError("the model is away")
        use = {"toolUse": {"toolUseId": str(turn), "name": "look"}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": use}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}


@tool
def look() -> str:
    """Look."""
    return "seen"


for calls in range(3):
    agent = Agent(Scripted(calls), tools=[look], callback_handler=None)
    try:
        agent("hi")
    except Exception as error:
        print(f"after {calls} calls: {type(error).__name__}")
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "after 0 calls: ConnectionError
after 1 calls: EventLoopException
after 2 calls: EventLoopException"
