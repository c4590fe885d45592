#!/usr/bin/env bash
# ai 6.0.326 and 7.0.173 (the AI SDK): what a tool throws becomes its result, which the model
# is sent. In 6 that is the message alone, and in 7 the name of the class stands before it,
# "Error: " where nobody named one; so does "AI_NoSuchToolError: " before what is said of a
# tool that does not exist. The guide to 7 does not say so. A prompt that quotes such a text,
# and code that compares it, are to be changed.
#
# Seen: the texts that the model is sent for both calls, by release.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, stepCountIs, tool } from "ai";
import * as fakes from "ai/test";
import { z } from "zod";

const Model = "MockLanguageModelV4" in fakes ? fakes.MockLanguageModelV4 : fakes.MockLanguageModelV3;
const call = (toolCallId, toolName) => ({ type: "tool-call", toolCallId, toolName, input: "{}" });
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const script = [
  ["tool-calls", [call("1", "look"), call("2", "gone")]],
  ["stop", [{ type: "text", text: "ok" }]],
];
let sent;
const model = new Model({
  doGenerate: async ({ prompt }) => {
    sent = prompt.at(-1).content;
    const [unified, content] = script.shift();
    return { content, finishReason: { unified }, usage, warnings: [] };
  },
});
const execute = () => {
  throw new Error("closed today");
};
const look = tool({ inputSchema: z.object({}), execute });
await generateText({ model, prompt: "hi", stopWhen: stepCountIs(2), tools: { look } });
for (const { output } of sent) console.log(`${output.type}: ${output.value}`);
JAVASCRIPT
for release in 6.0.326 7.0.173; do
  mkdir "$WORK/$release"
  cp "$WORK/shows.mjs" "$WORK/$release"
  npm install --silent --no-audit --no-fund --prefix "$WORK/$release" "ai@$release" zod@4.1.12 >&2
done
SEEN=$(for release in 6.0.326 7.0.173; do node "$WORK/$release/shows.mjs"; done)
echo "$SEEN"
test "$SEEN" = "error-text: closed today
error-text: Model tried to call unavailable tool 'gone'. Available tools: look.
error-text: Error: closed today
error-text: AI_NoSuchToolError: Model tried to call unavailable tool 'gone'. Available tools: look."
