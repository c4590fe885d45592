#!/usr/bin/env bash
# ai 5.0.277 and 6.0.326 (the AI SDK): whether a text that fits the schema becomes an object
# depends on why the model says it stopped, and on the release. 5 reads it only with "stop";
# with any other reason generateText succeeds, and the object raises NoOutputSpecifiedError
# though an output was specified. 6 reads it with "length", "content-filter" and "error",
# too, and only refuses it with "tool-calls". So whoever took the error for the sign of an
# answer that was cut or stopped is given an object by 6 and never sees the sign. (The page
# that comes with 6 says that the output can be missing with any reason but "stop".)
#
# Seen: what becomes of {"n":1} with each finish reason.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, Output } from "ai";
import * as fakes from "ai/test";
import { z } from "zod";

const six = "MockLanguageModelV3" in fakes;
const Model = six ? fakes.MockLanguageModelV3 : fakes.MockLanguageModelV2;
const usage = six
  ? { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  : { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const output = Output.object({ schema: z.object({ n: z.number() }) });

async function seen(why) {
  const model = new Model({
    doGenerate: async () => ({
      content: [{ type: "text", text: '{"n":1}' }],
      finishReason: six ? { unified: why } : why, usage, warnings: [],
    }),
  });
  const wanted = six ? { output } : { experimental_output: output };
  const result = await generateText({ model, prompt: "hi", ...wanted });
  try {
    return JSON.stringify(six ? result.output : result.experimental_output);
  } catch (error) {
    return error.name;
  }
}

for (const why of ["stop", "length", "content-filter", "error", "tool-calls"]) {
  console.log(why, await seen(why));
}
JAVASCRIPT
for release in 5.0.277 6.0.326; do
  mkdir "$WORK/$release"
  cp "$WORK/shows.mjs" "$WORK/$release"
  npm install --silent --no-audit --no-fund --prefix "$WORK/$release" "ai@$release" zod@4.1.12 >&2
done
SEEN=$(for release in 5.0.277 6.0.326; do node "$WORK/$release/shows.mjs"; done)
echo "$SEEN"
test "$SEEN" = 'stop {"n":1}
length AI_NoOutputSpecifiedError
content-filter AI_NoOutputSpecifiedError
error AI_NoOutputSpecifiedError
tool-calls AI_NoOutputSpecifiedError
stop {"n":1}
length {"n":1}
content-filter {"n":1}
error {"n":1}
tool-calls AI_NoOutputGeneratedError'
