#!/usr/bin/env bash
# ai 4.3.19 and 5.0.277 (the AI SDK): what an experimental_transform of streamText changes in
# a text is what the reader has and what response.messages keeps, in both versions. But the
# next step of the same run is sent the text as the model gave it in 4, and the changed one in
# 5. So in 4 what was taken out of an answer goes back to the vendor, though no kept history
# shows it, and the same code sends another request after the migration.
#
# Seen, by version: what the second step was sent of the first answer, and what was kept.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { streamText, tool } from "ai";
import * as test from "ai/test";
import { z } from "zod";

const four = "MockLanguageModelV1" in test;
const Model = four ? test.MockLanguageModelV1 : test.MockLanguageModelV2;
const said = (text) =>
  four
    ? [{ type: "text-delta", textDelta: text }]
    : [{ type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: text }, { type: "text-end", id: "0" }];
const call = { type: "tool-call", toolCallType: "function", toolCallId: "1", toolName: "look", args: "{}", input: "{}" };
const end = (finishReason) => ({ type: "finish", finishReason, usage: { promptTokens: 1, completionTokens: 1 } });
const script = [[...said("secret"), call, end("tool-calls")], [...said("done"), end("stop")]];
let sent;
const model = new Model({
  doStream: async ({ prompt }) => {
    sent = prompt;
    const parts = script.shift();
    const stream = new ReadableStream({ start: (out) => (parts.forEach((each) => out.enqueue(each)), out.close()) });
    return { stream, rawCall: {} };
  },
});
const field = four ? "textDelta" : "text";
const hidden = (part) => (part.type === "text-delta" ? { ...part, [field]: part[field].replace("secret", "[hidden]") } : part);
const schema = z.object({});
const result = streamText({
  model,
  tools: { look: tool({ parameters: schema, inputSchema: schema, execute: async () => "ok" }) },
  prompt: "look",
  maxSteps: 2,
  stopWhen: ({ steps }) => steps.length === 2,
  experimental_transform: () => new TransformStream({ transform: (part, out) => out.enqueue(hidden(part)) }),
});
await result.consumeStream();
const textOf = (messages) => messages.find((each) => each.role === "assistant").content[0].text;
console.log(`the next step was sent ${textOf(sent)}, kept is ${textOf((await result.response).messages)}`);
JAVASCRIPT
SEEN=""
for version in 4.3.19 5.0.277; do
    npm install --silent --no-audit --no-fund --prefix "$WORK" "ai@$version" zod@3.25.76 >&2
    SEEN+="$version: $(node "$WORK/shows.mjs")"$'\n'
done
printf %s "$SEEN"
test "$SEEN" = "4.3.19: the next step was sent secret, kept is [hidden]
5.0.277: the next step was sent [hidden], kept is [hidden]
"
