#!/usr/bin/env bash
# smolagents 1.26.0, ToolCallingAgent: if one of several calls of a message fails, the next
# request of the same run has neither the calls nor the results of the others, though they all
# ran: it has an empty message of the model and the error of the one. The same comes of a
# call of a tool that does not exist, and of a final answer beside which another tool was
# called, which is refused after that tool has run. So a payment next to a failed look-up is
# made again by a model that has no way to know of the first.
#
# Seen: what stands for the model's calls in its next request, and what ran by the end, of a
# model that pays until it sees a receipt, by what it called beside "pay" in its first answer.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet smolagents==1.26.0
cat >"$WORK/shows.py" <<'PYTHON'
import re

from smolagents import ChatMessage, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

paid = []


@tool
def pay() -> str:
    """Pay."""
    paid.append(1)
    return f"receipt {len(paid)}"


@tool
def look() -> str:
    """Look."""
    raise ValueError("no")


@tool
def read() -> str:
    """Read."""
    return "read"


def call(name):
    arguments = {"answer": "ok"} if name == "final_answer" else {}
    function = ChatMessageToolCallFunction(name=name, arguments=arguments)
    return ChatMessageToolCall(id=name, type="function", function=function)


class PaysOnce(Model):
    beside = None
    sent = None

    def generate(self, messages, **_):
        behind = [part["text"] for message in messages[2:] for part in message.content]
        names = ["pay", self.beside]
        if behind:
            self.sent = self.sent or "".join(behind)
            names = ["final_answer"] if "receipt" in "".join(behind) else ["pay"]
        return ChatMessage(role="assistant", content="", tool_calls=[*map(call, names)])


for beside in ("read", "look", "gone", "final_answer"):
    paid.clear()
    model = PaysOnce()
    model.beside = beside
    ToolCallingAgent([pay, look, read], model, verbosity_level=0).run("pay once")
    told = re.findall("'name': '(pay)'|(receipt 1)|(Error):\n", model.sent)
    print(f"{beside}: sent {[''.join(each) for each in told]}, paid {len(paid)}")
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null | grep ': sent')
echo "$SEEN"
test "$SEEN" = "read: sent ['pay', 'receipt 1'], paid 1
look: sent ['Error'], paid 2
gone: sent ['Error'], paid 2
final_answer: sent ['Error'], paid 2"
