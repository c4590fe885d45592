#!/usr/bin/env bash
# langgraph-prebuilt 1.1.3 with langgraph 1.2.24: how create_react_agent ends at its
# recursion limit depends on whether the limit is odd. With an even one, the answer is
# "Sorry, need more steps to process this request." and the run ends well; with an odd one
# the same agent raises GraphRecursionError. A model whose every answer calls a tool takes
# a step of the model and one of the tools, and only the step of the model looks how many
# are left. Whoever catches the error, or looks for the text, handles half of the limits.
#
# Seen: how the run ends with limits 1 to 8, in version v1 and v2 alike.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langgraph==1.2.24 langgraph-prebuilt==1.1.3 \
  langchain-core==1.8.3
cat >"$WORK/shows.py" <<'PYTHON'
import itertools

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.errors import GraphRecursionError
from langgraph.prebuilt import create_react_agent


class Calling(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def ping() -> str:
    """Answer."""
    return "pong"


def answers():
    for number in itertools.count():
        yield AIMessage("", tool_calls=[{"name": "ping", "args": {}, "id": str(number)}])


def ends(limit, version):
    agent = create_react_agent(Calling(messages=answers()), [ping], version=version)
    try:
        out = agent.invoke({"messages": [("user", "hi")]}, {"recursion_limit": limit})
    except GraphRecursionError:
        return "raises"
    return out["messages"][-1].content.partition(",")[0]


for version in ("v1", "v2"):
    print(*(ends(limit, version) for limit in range(1, 9)))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
ROW="raises Sorry raises Sorry raises Sorry raises Sorry"
test "$SEEN" = "$ROW
$ROW"
