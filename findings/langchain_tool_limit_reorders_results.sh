#!/usr/bin/env bash
# langchain 1.5.2, ToolCallLimitMiddleware: of three calls in one message with a limit of
# two, the first two run and the third is refused, but the refusal stands in front of both
# results in the history. The message of the refused call is put in behind the model,
# before any tool has run; so results are not in the order of their calls, and code that
# pairs them by position gives the first call the third one's refusal.
#
# Seen: ids and status of the results, in the order of the history.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain==1.5.2 langchain-core==1.8.3
cat >"$WORK/shows.py" <<'PYTHON'
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallLimitMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage


class Calling(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


calls = [{"name": "pay", "args": {"amount": n}, "id": f"call {n}"} for n in (1, 2, 3)]
model = Calling(messages=iter([AIMessage("", tool_calls=calls), AIMessage("done")]))
agent = create_agent(model, [pay], middleware=[ToolCallLimitMiddleware(run_limit=2)])
out = agent.invoke({"messages": [("user", "pay")]})
found = [each for each in out["messages"] if isinstance(each, ToolMessage)]
print(", ".join(f"{each.tool_call_id} {each.status}" for each in found))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "call 3 error, call 1 success, call 2 success"
