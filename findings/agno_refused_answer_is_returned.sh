#!/usr/bin/env bash
# agno 3.1.10: a post-hook that raises OutputCheckError refuses the answer, and run() neither
# raises that error, as the examples that catch it expect, nor takes the answer back: it is
# still the content of what is returned and of what the database keeps, and only the status
# says "ERROR". A refused input is the other way round, there the content is the words of the
# error. And with history the next turn knows nothing of a refused one, neither what the
# person said nor that a tool ran, so it may be run again.
#
# Seen: status and content, returned and kept, of a refused answer and of a refused input;
# then what the model is sent in the turn behind the refused answer, in which a tool ran.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet agno==3.1.10
cat >"$WORK/shows.py" <<'PYTHON'
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.exceptions import InputCheckError, OutputCheckError
from agno.models.base import Model
from agno.models.response import ModelResponse

CALL = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
paid, sent = [], []


class Scripted(Model):
    def invoke(self, messages, **_):
        sent.append([message.role for message in messages])
        if len(sent) == 1:
            return ModelResponse(role="assistant", tool_calls=[CALL])
        return ModelResponse(role="assistant", content="the pin is 1234")

    def _parse_provider_response(self, response, **_):
        return response

    ainvoke = invoke_stream = ainvoke_stream = _parse_provider_response_delta = invoke


def pay() -> str:
    """Pay."""
    paid.append(1)
    return "paid"


def refuses_input(run_input):
    raise InputCheckError("refused")


def refuses_output(run_output):
    raise OutputCheckError("refused")


def shows(**hooks):
    agent = Agent(model=Scripted(id="scripted"), tools=[pay], db=InMemoryDb(),
                  session_id="s", add_history_to_context=True, telemetry=False, **hooks)
    returned = agent.run("pay")
    (kept,) = agent.get_session(session_id="s").runs
    print(*(f"{each.status.value}, {each.content}" for each in (returned, kept)), sep="; ")
    return agent


shows(pre_hooks=[refuses_input])
agent = shows(post_hooks=[refuses_output])
agent.post_hooks = []
agent.run("did you?")
print(f"paid {len(paid)}, then sent {sent[-1]}")
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null | grep -E '^(ERROR, |paid )')
echo "$SEEN"
test "$SEEN" = "ERROR, refused; ERROR, refused
ERROR, the pin is 1234; ERROR, the pin is 1234
paid 1, then sent ['user']"
