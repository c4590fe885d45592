#!/usr/bin/env bash
# strands-agents 1.62.0 (Python): a call whose arguments are no JSON, such as one that a limit
# of tokens or a broken connection cut off, is run all the same, with no arguments at all. The
# text that the model wrote is dropped with a warning in the log, the history keeps an empty
# object in its place, and a tool whose parameters have defaults runs with these and succeeds:
# neither the model nor a hook before the tool can tell that from a call that was meant so. One
# whose parameter has no default is answered with an error. It is strands-agents/harness-sdk
# issue 2051.
#
# Seen: what the tool was given, what a hook before it sees, and the result that the model is
# told, for arguments that break off behind the value that mattered.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet strands-agents==1.62.0
cat >"$WORK/shows.py" <<'PYTHON'
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from strands.models import Model

WRITTEN = '{"folder": "drafts/old", "rea'


class Scripted(Model):
    def update_config(self, **_): ...
    def get_config(self): ...
    def structured_output(self, *_, **__): ...

    async def stream(self, messages, *_, **__):
        calls = len(messages) == 1
        use = {"toolUse": {"toolUseId": "1", "name": "list_files"}}
        delta = {"toolUse": {"input": WRITTEN}} if calls else {"text": "ok"}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": use if calls else {}}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


@tool
def list_files(folder: str = "everything") -> str:
    """List the files of a folder."""
    return f"listed {folder}"


seen = []
agent = Agent(Scripted(), tools=[list_files], callback_handler=None)
agent.add_hook(lambda event: seen.append(event.tool_use["input"]), BeforeToolCallEvent)
agent("hi")
result = agent.messages[2]["content"][0]["toolResult"]
print(f"a hook saw {seen}; {result['status']}: {result['content'][0]['text']}")
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "a hook saw [{}]; success: listed everything"
