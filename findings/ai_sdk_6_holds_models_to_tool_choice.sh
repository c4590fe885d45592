#!/usr/bin/env bash
# ai 5.0.277, 6.0.326 and 7.0.173 (the AI SDK): a model that answers in words though
# `toolChoice` is "required". 5 takes the answer, from generateText and streamText alike. 6
# throws AI_ToolChoiceViolationError from generateText, and takes the same answer from
# streamText, where it holds a model to "none" alone. 7 fails both. Some providers treat
# "required" as a wish: an agent on one that ran for a year ends with an error after the
# upgrade, and whether it does depends on which of the two calls it is made of.
#
# Seen: what each call gives, by release.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, streamText, tool } from "ai";
import * as fakes from "ai/test";
import { z } from "zod";

const version = [4, 3, 2].find((each) => `MockLanguageModelV${each}` in fakes);
const usage = version > 2 ? { inputTokens: { total: 1 }, outputTokens: { total: 1 } } : { inputTokens: 1, outputTokens: 1 };
const finishReason = version > 2 ? { unified: "stop" } : "stop";
const parts = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "in words" },
  { type: "text-end", id: "1" },
  { type: "finish", finishReason, usage },
];
const model = new fakes[`MockLanguageModelV${version}`]({
  doGenerate: async () => ({ content: [{ type: "text", text: "in words" }], finishReason, usage, warnings: [] }),
  doStream: async () => ({ stream: ReadableStream.from(parts) }),
});
const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
const asked = { model, prompt: "hi", tools: { look }, toolChoice: "required" };

const generated = await generateText(asked).then((each) => each.text, (error) => error.name);
console.log(`generateText: ${generated}`);
let failed;
const answer = streamText({ ...asked, onError: ({ error }) => void (failed = error.name) });
await answer.consumeStream();
console.log(`streamText: ${failed ?? (await answer.text)}`);
JAVASCRIPT
RELEASES="5.0.277 6.0.326 7.0.173"
for release in $RELEASES; do
  mkdir "$WORK/$release"
  cp "$WORK/shows.mjs" "$WORK/$release"
  npm install --silent --no-audit --no-fund --prefix "$WORK/$release" "ai@$release" zod@4.1.12 >&2
done
SEEN=$(for release in $RELEASES; do echo "ai $release" && node "$WORK/$release/shows.mjs"; done)
echo "$SEEN"
test "$SEEN" = "ai 5.0.277
generateText: in words
streamText: in words
ai 6.0.326
generateText: AI_ToolChoiceViolationError
streamText: in words
ai 7.0.173
generateText: AI_ToolChoiceViolationError
streamText: AI_ToolChoiceViolationError"
