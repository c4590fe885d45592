#!/usr/bin/env bash
# ai 5.0.277, 6.0.326 and 7.0.173 (the AI SDK): what onStepFinish throws, or a promise of it
# that is rejected, ends the run in 5, and since 6 nobody is told: the run goes on with the
# next step. So a budget that throws there, after the first step for example, stops nothing
# since 6; it has to be a condition of stopWhen.
#
# Seen: by release, what a run of two steps comes to whose onStepFinish throws in the first,
# and how often the model was asked.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, stepCountIs, tool } from "ai";
import * as fakes from "ai/test";
import { z } from "zod";

const { MockLanguageModelV4, MockLanguageModelV3, MockLanguageModelV2 } = fakes;
const Model = MockLanguageModelV4 ?? MockLanguageModelV3 ?? MockLanguageModelV2;
const five = Model === MockLanguageModelV2;
const usage = five
  ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  : { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: "{}" };
const script = [["tool-calls", call], ["stop", { type: "text", text: "ok" }]];
let asked = 0;
const model = new Model({
  doGenerate: async () => {
    const [why, part] = script[asked++];
    return { content: [part], finishReason: five ? why : { unified: why }, usage, warnings: [] };
  },
});
const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
const onStepFinish = async () => {
  throw new Error("over budget");
};
const run = generateText({ model, prompt: "hi", stopWhen: stepCountIs(2), tools: { look }, onStepFinish });
const came = await run.then(({ text }) => text, (error) => error.message);
console.log(`${came}, asked ${asked}`);
JAVASCRIPT
for release in 5.0.277 6.0.326 7.0.173; do
  mkdir "$WORK/$release"
  cp "$WORK/shows.mjs" "$WORK/$release"
  npm install --silent --no-audit --no-fund --prefix "$WORK/$release" "ai@$release" zod@4.1.12 >&2
done
SEEN=$(for release in 5.0.277 6.0.326 7.0.173; do node "$WORK/$release/shows.mjs"; done)
echo "$SEEN"
test "$SEEN" = "over budget, asked 1
ok, asked 2
ok, asked 2"
