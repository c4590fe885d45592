#!/usr/bin/env bash
# opentelemetry-instrumentation-langchain 0.62.4 with langchain 1.5.2: tracing changes the
# graph of an agent. A middleware with one hook has one node; once the instrumentor is on,
# an agent with the same middleware has a node for each of the four hooks around the model
# and the agent, so that a run takes more steps and the smallest recursion limit that
# suffices rises. uninstrument() does not undo it for agents that are made afterwards.
#
# Seen: nodes beside the model (and the run's start and end), and the smallest limit that
# suffices: 1 and 3 without it, 4 and 6 with it, 4 and 6 behind uninstrument().
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain==1.5.2 \
  opentelemetry-instrumentation-langchain==0.62.4 opentelemetry-sdk==1.45.2
cat >"$WORK/shows.py" <<'PYTHON'
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.errors import GraphRecursionError
from opentelemetry.instrumentation.langchain import LangchainInstrumentor


class Brief(AgentMiddleware):
    def before_model(self, state, runtime):
        return None


def made():
    model = GenericFakeChatModel(messages=iter([AIMessage("ok")]))
    return create_agent(model, [], middleware=[Brief()])


def answers(limit):
    try:
        made().invoke({"messages": [("user", "hi")]}, {"recursion_limit": limit})
    except GraphRecursionError:
        return False
    return True


def seen():
    nodes = [x for x in made().get_graph().nodes if x.startswith("Brief.")]
    return len(nodes), next(limit for limit in range(1, 20) if answers(limit))


plain = seen()
LangchainInstrumentor().instrument()
traced = seen()
LangchainInstrumentor().uninstrument()
print(plain, traced, seen())
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "(1, 3) (4, 6) (4, 6)"
