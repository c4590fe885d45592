#!/usr/bin/env bash
# langgraph 1.2.24: an empty context is no context. A graph that is run with context={}
# gives its nodes None as runtime.context, with and without a schema for it, so a node that
# asks runtime.context.get(...) works in every run but those in which nothing was given.
#
# Seen: runtime.context of runs with None, {} and {"x": 1}, without and with a schema.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langgraph==1.2.24
cat >"$WORK/shows.py" <<'PYTHON'
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime


class State(TypedDict):
    text: str


seen = []


def looks(state: State, runtime: Runtime):
    seen.append(runtime.context)
    return {"text": "seen"}


for schema in ({}, {"context_schema": dict}):
    graph = StateGraph(State, **schema)
    graph.add_node("looks", looks)
    graph.add_edge(START, "looks")
    for context in (None, {}, {"x": 1}):
        graph.compile().invoke({"text": ""}, context=context)
print(seen)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "[None, None, {'x': 1}, None, None, {'x': 1}]"
