#!/usr/bin/env bash
# ai 6.0.326 (the AI SDK): the two places for a transform of what the model streams live
# differently long. wrapStream of a middleware is entered once per step; the factory given
# as experimental_transform is called once for the whole run, so its state goes on over all
# steps and tool calls, and its flush comes once, at the very end. Code that masks or
# gathers text and was moved from the one place to the other carries what it holds from the
# text of one step into that of the next.
#
# Seen: a counter of texts that is new for each transform, over three steps of one text.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" ai@6.0.326 zod@4.1.12 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { simulateReadableStream, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
const call = (id) => ({ type: "tool-call", toolCallId: id, toolName: "look", input: "{}" });
const step = (why, ...calls) => [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "a text" },
  { type: "text-end", id: "t" },
  ...calls,
  {
    type: "finish", finishReason: { unified: why },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  },
];
const script = [step("tool-calls", call("1")), step("tool-calls", call("2")), step("stop")];
const seen = { middleware: [], transform: [] };

function counts(place) {
  let texts = 0;
  return new TransformStream({
    transform(chunk, controller) {
      if (chunk.type === "text-delta") seen[place].push(`text ${(texts += 1)}`);
      controller.enqueue(chunk);
    },
    flush: () => void seen[place].push("flush"),
  });
}

const model = wrapLanguageModel({
  model: new MockLanguageModelV3({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: script.shift() }) }),
  }),
  middleware: {
    specificationVersion: "v3",
    async wrapStream({ doStream }) {
      const { stream } = await doStream();
      return { stream: stream.pipeThrough(counts("middleware")) };
    },
  },
});
const result = streamText({
  model, tools: { look }, prompt: "look", stopWhen: stepCountIs(3),
  experimental_transform: () => counts("transform"),
});
await result.consumeStream();
for (const place in seen) console.log(`${place}: ${seen[place].join(", ")}`);
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs")
echo "$SEEN"
test "$SEEN" = "middleware: text 1, flush, text 1, flush, text 1, flush
transform: text 1, text 2, text 3, flush"
