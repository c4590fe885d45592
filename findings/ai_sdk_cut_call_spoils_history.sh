#!/usr/bin/env bash
# ai 6.0.326 (the AI SDK): generateText can return messages that generateText refuses. A
# complete call in an answer that ends with "length" (or any reason but "tool-calls" and
# "stop") is not run: the run ends well, without an error and without a result, and the call
# is in response.messages. Whoever puts those behind the history and adds what the person
# says next, as for every other run, is thrown MissingToolResultsError before the model is
# asked, in this turn and in each later one.
#
# Seen: how often the tool ran, what was kept, and how the next turn ends, by reason.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" ai@6.0.326 zod@4.1.12 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: "{}" };
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

async function seen(why) {
  const script = [[why, call], ["stop", { type: "text", text: "ok" }]];
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      const [unified, part] = script.shift() ?? ["stop", { type: "text", text: "next" }];
      return { content: [part], finishReason: { unified }, usage, warnings: [] };
    },
  });
  let runs = 0;
  const look = tool({ inputSchema: z.object({}), execute: () => (runs += 1) });
  const turn = (messages) =>
    generateText({ model, tools: { look }, messages, stopWhen: stepCountIs(3) });
  const history = [{ role: "user", content: "look" }];
  history.push(...(await turn(history)).response.messages);
  const roles = history.map((message) => message.role).join("+");
  history.push({ role: "user", content: "and now?" });
  const end = await turn(history).then(({ text }) => text, (error) => error.name);
  return `${why}: ran ${runs}, kept ${roles}, then ${end}`;
}

for (const why of ["tool-calls", "stop", "length", "other"]) console.log(await seen(why));
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs")
echo "$SEEN"
test "$SEEN" = "tool-calls: ran 1, kept user+assistant+tool+assistant, then next
stop: ran 1, kept user+assistant+tool+assistant, then next
length: ran 0, kept user+assistant, then AI_MissingToolResultsError
other: ran 0, kept user+assistant, then AI_MissingToolResultsError"
