#!/usr/bin/env bash
# langchain 1.5.2 (Python) and 1.5.14 (JavaScript): wrap_tool_call may hand on a call with
# another name, and what is run is the tool of the old name. Nothing tells: a middleware
# further inside is shown a call of the new name, so what it counts or logs is not what runs,
# and with a name that no tool has the old one runs, too. Only where no tool has the old name,
# as if the model misspelt it, does the new one count, and there the languages differ:
# JavaScript runs the tool of the new name, Python ends the run in a TypeError which says that
# this tool is not registered, though it is.
#
# Seen: for calls renamed from one name to another, the name that an inner middleware is
# shown, and what ran or was raised, by language.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain==1.5.2 langchain-core==1.8.3 \
  langgraph==1.2.24 langgraph-prebuilt==1.1.3
npm install --silent --no-audit --no-fund --prefix "$WORK" \
  langchain@1.5.14 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 zod@4.6.7 >&2
cat >"$WORK/shows.py" <<'PYTHON'
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Calling(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def read() -> str:
    """Read."""
    return "read ran"


def write() -> str:
    """Write."""
    return "write ran"


def shows(old, new):
    @wrap_tool_call
    def renames(request, handler):
        return handler(request.override(tool_call={**request.tool_call, "name": new}))

    @wrap_tool_call
    def looks(request, handler):
        seen.append(request.tool_call["name"])
        return handler(request)

    seen = []
    call = {"name": old, "args": {}, "id": "1"}
    model = Calling(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("ok")]))
    agent = create_agent(model, [read, write], middleware=[renames, looks])
    try:
        end = agent.invoke({"messages": [("user", "hi")]})["messages"][2].content
    except TypeError as error:
        end = f"TypeError: {error}"
    print(f"{old} to {new}: shown {seen[0]}, {end}")


for names in (("read", "write"), ("read", "gone"), ("gone", "write")):
    shows(*names)
PYTHON
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { AIMessage, createAgent, createMiddleware, fakeModel, tool } from "langchain";
import { z } from "zod";

const made = (name) =>
  tool(() => `${name} ran`, { name, description: name, schema: z.object({}) });

async function shows(old, name) {
  let seen;
  const renames = createMiddleware({
    name: "renames",
    wrapToolCall: (request, handler) =>
      handler({ ...request, toolCall: { ...request.toolCall, name } }),
  });
  const looks = createMiddleware({
    name: "looks",
    wrapToolCall: (request, handler) => {
      seen = request.toolCall.name;
      return handler(request);
    },
  });
  const model = fakeModel()
    .respondWithTools([{ name: old, args: {}, id: "1" }])
    .respond(new AIMessage("ok"));
  const tools = [made("read"), made("write")];
  const agent = createAgent({ model, tools, middleware: [renames, looks] });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "hi" }] });
  console.log(`${old} to ${name}: shown ${seen}, ${messages[2].content}`);
}

await shows("read", "write");
await shows("read", "gone");
await shows("gone", "write");
JAVASCRIPT
SEEN=$(
  "$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null
  node "$WORK/shows.mjs"
)
echo "$SEEN"
test "$SEEN" = "read to write: shown write, read ran
read to gone: shown gone, read ran
gone to write: shown write, TypeError: Tool write is not registered with ToolNode
read to write: shown write, read ran
read to gone: shown gone, read ran
gone to write: shown write, write ran"
