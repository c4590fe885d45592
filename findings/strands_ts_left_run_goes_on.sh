#!/usr/bin/env bash
# @strands-agents/sdk 1.16.0 (Strands Agents for TypeScript): a run that is left while its
# tools run is not over. Where a reader of stream() breaks at an event of a tool call, or a
# hook behind a tool throws, the call that was under way is taken out of the history, and the
# model is asked again before the break or the error gets through: it cannot know that the
# tool ran, calls it again, and the run goes on to its end, unseen. Left at the events around
# the tools, of the model or of the batch, the same run stops at once.
#
# Seen: how often the model was asked and the tool ran, and what is kept, of a model that
# calls the tool if the history has no result of it.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" \
  @strands-agents/sdk@1.16.0 zod@4.6.7 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { AfterToolCallEvent, Agent, Model, tool } from "@strands-agents/sdk";
import { z } from "zod";

let asked, paid;

class PaysOnce extends Model {
  updateConfig() {}
  getConfig = () => ({});

  async *stream(messages) {
    asked += 1;
    const blocks = messages.flatMap((message) => message.content);
    const done = blocks.some((block) => block.type === "toolResultBlock");
    const start = { type: "toolUseStart", toolUseId: `${asked}`, name: "pay" };
    const delta = done
      ? { type: "textDelta", text: "paid" }
      : { type: "toolUseInputDelta", input: "{}" };
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent", ...(done ? {} : { start }) };
    yield { type: "modelContentBlockDeltaEvent", delta };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: done ? "endTurn" : "toolUse" };
  }
}

function made() {
  asked = paid = 0;
  const pay = tool({
    name: "pay", description: "Pay.", inputSchema: z.object({}),
    callback: () => `receipt ${(paid += 1)}`,
  });
  return new Agent({ model: new PaysOnce(), tools: [pay], printer: false });
}

function show(how, agent) {
  const blocks = agent.messages.flatMap((message) => message.content);
  const kept = blocks.map((block) => block.toolUseId ?? block.text).join(" ");
  console.log(`${how}: asked ${asked}, paid ${paid}, kept ${kept}`);
}

for (const place of ["afterModelCallEvent", "afterToolCallEvent", "afterToolsEvent"]) {
  const agent = made();
  for await (const event of agent.stream("pay once")) if (event.type === place) break;
  show(`left at ${place}`, agent);
}
const agent = made();
agent.addHook(AfterToolCallEvent, () => {
  throw new Error("the log is full");
});
const end = await agent.invoke("pay once").then(() => "ended", (error) => error.message);
show(end, agent);
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "left at afterModelCallEvent: asked 1, paid 0, kept pay once
left at afterToolCallEvent: asked 3, paid 2, kept pay once 2 2 paid
left at afterToolsEvent: asked 1, paid 1, kept pay once
the log is full: asked 3, paid 2, kept pay once 2 2 paid"
