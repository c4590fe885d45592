#!/usr/bin/env bash
# langgraph-prebuilt 1.1.3: a tool node reads from the annotation of its error handler
# which errors the handler is for. A union of two is read where the annotation is a type.
# Where the file has `from __future__ import annotations`, so that annotations are texts,
# one class is still read, and a union is not: nothing is said when the node is built, and
# the first tool that fails ends the run with an AttributeError, in place of its own error
# and of the handler's answer. One import decides whether the handler is ever called.
#
# Seen: for each file and handler, the result of the call or the error.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain-core==1.8.3 langgraph==1.2.24 \
  langgraph-prebuilt==1.1.3
cat >"$WORK/as_types.py" <<'PYTHON'
def of_one(error: TimeoutError) -> str:
    return "answered"


def of_two(error: TimeoutError | ValueError) -> str:
    return "answered"
PYTHON
{ echo "from __future__ import annotations"; cat "$WORK/as_types.py"; } \
  >"$WORK/as_texts.py"
cat >"$WORK/shows.py" <<'PYTHON'
import as_texts
import as_types
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


def pay() -> str:
    """Pay."""
    raise TimeoutError("slow")


def outcome(handler) -> str:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([pay], handle_tool_errors=handler))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    call = {"name": "pay", "args": {}, "id": "1"}
    try:
        state = graph.compile().invoke({"messages": [AIMessage("", tool_calls=[call])]})
    except Exception as error:
        return type(error).__name__
    return state["messages"][-1].content


for module in (as_types, as_texts):
    for handler in (module.of_one, module.of_two):
        print(module.__name__, handler.__name__, outcome(handler))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "as_types of_one answered
as_types of_two answered
as_texts of_one answered
as_texts of_two AttributeError"
