#!/usr/bin/env bash
# langchain 1.5.2, a patch release: the message that stands for a call which a person
# rejected in HumanInTheLoopMiddleware has something that it had not in 1.5.1: marks in
# additional_kwargs, lc_source and lc_data, that say so. They are kept with the history and
# compared wherever messages are, so that histories kept by 1.5.1 are not equal to those
# of 1.5.2 though text, status and ids are.
#
# Seen: additional_kwargs of that message, by release.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.py" <<'PYTHON'
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


class Calling(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


call = {"name": "pay", "args": {"amount": 1}, "id": "call 1"}
model = Calling(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
asks = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
agent = create_agent(model, [pay], middleware=[asks], checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "1"}}
agent.invoke({"messages": [("user", "pay")]}, thread)
no = {"decisions": [{"type": "reject", "message": "no"}]}
out = agent.invoke(Command(resume=no), thread)
(found,) = [each for each in out["messages"] if isinstance(each, ToolMessage)]
print(found.additional_kwargs)
PYTHON
for release in 1.5.1 1.5.2; do
  python3 -m venv "$WORK/$release"
  "$WORK/$release/bin/pip" install --quiet "langchain==$release" \
    langchain-core==1.8.3 langgraph==1.2.24 langgraph-prebuilt==1.1.3
done
SEEN=$(for release in 1.5.1 1.5.2; do
  "$WORK/$release/bin/python" "$WORK/shows.py" 2>/dev/null
done)
echo "$SEEN"
test "$SEEN" = "{}
{'lc_source': 'hitl_interrupt_decision', 'lc_data': {'decision': 'reject'}}"
