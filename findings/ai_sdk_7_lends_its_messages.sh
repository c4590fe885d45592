#!/usr/bin/env bash
# ai 6.0.326 and 7.0.173 (the AI SDK): the list of messages that tools and callbacks are given
# to look at is a copy in 6, and in 7 it is the list of the run. Whatever a tool, onStepStart
# or the callback before a tool adds to it is sent with each later request, and in front of
# the call during which it was added; the messages of the result do not show it. What
# prepareStep adds in place to one step was sent with that alone, and stays in 7. (The guide
# tells so of messages that prepareStep returns.)
#
# Seen: the second and last request, by release and by who added "mine" in the first step.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { generateText, stepCountIs, tool } from "ai";
import * as fakes from "ai/test";
import { z } from "zod";

const seven = "MockLanguageModelV4" in fakes;
const Model = seven ? fakes.MockLanguageModelV4 : fakes.MockLanguageModelV3;
const stepStart = seven ? "onStepStart" : "experimental_onStepStart";
const toolStart = seven ? "onToolExecutionStart" : "experimental_onToolCallStart";
const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: "{}" };
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

async function seen(who) {
  const script = [["tool-calls", call], ["stop", { type: "text", text: "ok" }]];
  let sent;
  const model = new Model({
    doGenerate: async ({ prompt }) => {
      sent = prompt.map(({ role, content: [{ text }] }) => text ?? role).join(" ");
      const [unified, part] = script.shift();
      return { content: [part], finishReason: { unified }, usage, warnings: [] };
    },
  });
  const adds = (name) => ({ messages }) => {
    if (name === who) messages.push({ role: "user", content: "mine" });
  };
  const execute = (_, options) => adds("tool")(options) ?? "seen";
  await generateText({
    model, prompt: "hi", stopWhen: stepCountIs(2),
    tools: { look: tool({ inputSchema: z.object({}), execute }) },
    prepareStep: (step) => (step.steps.length === 0 ? adds("prepareStep")(step) : undefined),
    [stepStart]: adds("stepStart"),
    [toolStart]: adds("toolStart"),
  });
  return `${who}: ${sent}`;
}

for (const who of ["tool", "toolStart", "stepStart", "prepareStep"]) console.log(await seen(who));
JAVASCRIPT
for release in 6.0.326 7.0.173; do
  mkdir "$WORK/$release"
  cp "$WORK/shows.mjs" "$WORK/$release"
  npm install --silent --no-audit --no-fund --prefix "$WORK/$release" "ai@$release" zod@4.1.12 >&2
done
SEEN=$(for release in 6.0.326 7.0.173; do node "$WORK/$release/shows.mjs"; done)
echo "$SEEN"
test "$SEEN" = "tool: hi assistant tool
toolStart: hi assistant tool
stepStart: hi assistant tool
prepareStep: hi assistant tool
tool: hi mine assistant tool
toolStart: hi mine assistant tool
stepStart: hi mine assistant tool
prepareStep: hi mine assistant tool"
