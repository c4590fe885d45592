#!/usr/bin/env bash
# langchain 1.5.2 and langgraph-prebuilt 1.1.3: a run that stops before its tools, and is
# then not resumed but given a new message, ends differently in create_react_agent and in
# create_agent, its successor. The old one raises ValueError before the model is asked, in
# this turn and in each later one. The new one asks the model with the call that nobody
# answered in the history; most vendors refuse that, so the error comes later and from
# elsewhere, and a scripted model, or one that is lenient, goes on as if all were well.
#
# Seen: the types of the messages of the second request, or the error.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain==1.5.2 langchain-core==1.8.3 \
  langgraph==1.2.24 langgraph-prebuilt==1.1.3
cat >"$WORK/shows.py" <<'PYTHON'
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

asked = []


class Calling(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *args, **kwargs):
        asked.append(" ".join(each.type for each in messages))
        return super()._generate(messages, *args, **kwargs)


def pay() -> str:
    """Pay."""
    return "paid"


for make in (create_react_agent, create_agent):
    call = {"name": "pay", "args": {}, "id": "1"}
    model = Calling(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("ok")]))
    agent = make(
        model, [pay], checkpointer=InMemorySaver(), interrupt_before=["tools"]
    )
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "pay")]}, thread)
    try:
        agent.invoke({"messages": [("user", "no, stop")]}, thread)
        print(make.__name__, asked[-1])
    except ValueError as error:
        print(make.__name__, type(error).__name__)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "create_react_agent ValueError
create_agent human ai human"
