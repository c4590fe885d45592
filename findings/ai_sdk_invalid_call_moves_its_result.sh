#!/usr/bin/env bash
# ai 5.0.277 and 6.0.326 (the AI SDK): of three calls in one message the second is one of a
# tool that does not exist. Its error stands in front of the results of the other two in the
# content of the step, in both releases, and in 5 also in the messages that are kept and sent
# to the model. 6 sorts the messages by their calls, and only those: there the same step has
# two orders. Arguments that the schema refuses do the same. So code that pairs results with
# calls by position gives the first call the error of the second, and histories kept by 5
# are not equal to those of 6.
#
# Seen: the calls whose results follow each other, in the step and in the kept messages.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, stepCountIs, tool } from "ai";
import * as fakes from "ai/test";
import { z } from "zod";

const six = "MockLanguageModelV3" in fakes;
const Model = six ? fakes.MockLanguageModelV3 : fakes.MockLanguageModelV2;
const usage = six
  ? { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  : { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const call = (toolCallId, toolName, n) => ({
  type: "tool-call", toolCallId, toolName, input: JSON.stringify({ n }),
});
const look = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => `${n}` });

async function seen(second) {
  const script = [
    ["tool-calls", [call("1", "look", 1), second, call("3", "look", 3)]],
    ["stop", [{ type: "text", text: "ok" }]],
  ];
  const model = new Model({
    doGenerate: async () => {
      const [why, content] = script.shift();
      return { content, finishReason: six ? { unified: why } : why, usage, warnings: [] };
    },
  });
  const { steps, response } = await generateText({
    model, tools: { look }, prompt: "look", stopWhen: stepCountIs(2),
  });
  const results = steps[0].content.filter((part) => part.type !== "tool-call");
  const kept = response.messages.find((message) => message.role === "tool").content;
  return [results, kept].map((parts) => parts.map((part) => part.toolCallId).join(" "));
}

console.log(await seen(call("2", "gone", 2)), await seen(call("2", "look", "two")));
JAVASCRIPT
for release in 5.0.277 6.0.326; do
  mkdir "$WORK/$release"
  cp "$WORK/shows.mjs" "$WORK/$release"
  npm install --silent --no-audit --no-fund --prefix "$WORK/$release" "ai@$release" zod@4.1.12 >&2
done
SEEN=$(for release in 5.0.277 6.0.326; do node "$WORK/$release/shows.mjs"; done)
echo "$SEEN"
test "$SEEN" = "[ '2 1 3', '2 1 3' ] [ '2 1 3', '2 1 3' ]
[ '2 1 3', '1 2 3' ] [ '2 1 3', '1 2 3' ]"
