#!/usr/bin/env bash
# langchain 1.5.14 (JavaScript), humanInTheLoopMiddleware: where a person rejects one of
# several calls of a message, none of the others is run. One that was approved is taken out of
# the history, as if the model had never made it; one that needs no approval stays there with
# no result, and so the model is asked, which most vendors refuse, in this request and in each
# later one of the thread. (The guide says that approved calls are executed, and in Python
# they are.) And whatever is decided, the calls of the message are put into another order,
# those that needed no approval first.
#
# Seen: the calls and results of the second request, and what ran, by the two decisions on
# the first and the last of three calls.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" \
  langchain@1.5.14 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 zod@4.6.7 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { Command, MemorySaver } from "@langchain/langgraph";
import {
  AIMessage, createAgent, fakeModel, humanInTheLoopMiddleware, tool,
} from "langchain";
import { z } from "zod";

const thread = { configurable: { thread_id: "1" } };

async function shows(...decisions) {
  const ran = [];
  const made = (name) =>
    tool(({ n }) => `${ran.push(n)}`, { name, schema: z.object({ n: z.number() }) });
  const calls = ["pay", "look", "pay"].map((name, n) => ({ name, args: { n }, id: `${n}` }));
  const model = fakeModel().respondWithTools(calls).respond(new AIMessage("ok"));
  const agent = createAgent({
    model, tools: [made("pay"), made("look")], checkpointer: new MemorySaver(),
    middleware: [humanInTheLoopMiddleware({ interruptOn: { pay: true } })],
  });
  await agent.invoke({ messages: [{ role: "user", content: "pay twice" }] }, thread);
  const resume = { decisions: decisions.map((type) => ({ type })) };
  await agent.invoke(new Command({ resume }), thread);
  const [, asked, ...results] = model.calls[1].messages;
  const sent = [asked.tool_calls.map(({ id }) => id), results.map((each) => each.tool_call_id)];
  const how = decisions.join(" and ");
  console.log(`${how}: calls ${sent[0]}; results ${sent[1]}; ran ${ran.length}`);
}

await shows("approve", "approve");
await shows("approve", "reject");
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs")
echo "$SEEN"
test "$SEEN" = "approve and approve: calls 1,0,2; results 1,0,2; ran 3
approve and reject: calls 1,2; results 2; ran 0"
