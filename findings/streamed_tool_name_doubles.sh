#!/usr/bin/env bash
# langchain-core 1.8.3 and pydantic-ai-slim 2.68.0: some gateways repeat the id and the
# name of a streamed tool call in each of its pieces, and not in the first alone. Both
# packages keep an id that is repeated, and put a name that is repeated together with
# itself: the call of "search" becomes one of "searchsearch". Nothing is raised;
# pydantic-ai tells the model that there is no such tool, and asks again. Where the id
# differs from piece to piece, langchain-core makes a valid call with no arguments of the
# first, and an invalid one of the second: the tool runs without what it was given.
#
# Seen: the calls that the pieces become, and what the model is told of them.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain-core==1.8.3 pydantic-ai-slim==2.68.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from langchain_core.messages import AIMessageChunk
from pydantic_ai import Agent
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

PIECES = ('{"q"', ': 1}')


def joined(*ids):
    whole = None
    for id_, args in zip(ids, PIECES):
        call = {"index": 0, "id": id_, "name": "search", "args": args}
        chunk = AIMessageChunk("", tool_call_chunks=[call])
        whole = chunk if whole is None else whole + chunk
    (call,) = whole.tool_calls
    return call["id"], call["name"], call["args"]


told = []


async def streams(messages, info):
    if len(messages) > 1:
        told.append(messages[-1].parts[0].content)
        yield "done"
        return
    for args in PIECES:
        yield {0: DeltaToolCall(name="search", json_args=args, tool_call_id="c1")}


agent = Agent(FunctionModel(stream_function=streams))


@agent.tool_plain
def search(q: int) -> str:
    return "found"


async def main():
    async with agent.run_stream_events("go") as events:
        kind = "function_tool_call"
        return [e.part.tool_name async for e in events if e.event_kind == kind]


print("langchain-core, one id:", *joined("c1", "c1"))
print("langchain-core, two ids:", *joined("c1", "c2"))
print("pydantic-ai, called:", *asyncio.run(main()))
print("pydantic-ai, told:", *told)
PYTHON
"$WORK/venv/bin/python" "$WORK/shows.py" | tee "$WORK/seen"
diff - "$WORK/seen" <<'EXPECTED'
langchain-core, one id: c1 searchsearch {'q': 1}
langchain-core, two ids: c1 search {}
pydantic-ai, called: searchsearch
pydantic-ai, told: Unknown tool name: 'searchsearch'. Available tools: 'search'
EXPECTED
