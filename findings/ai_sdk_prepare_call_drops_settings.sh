#!/usr/bin/env bash
# ai 6.0.326 (the AI SDK), ToolLoopAgent: what prepareCall returns is not put over the
# agent's settings but stands in their place. The guide that comes with the package says to
# return only the settings that change; an agent whose prepareCall returns the model, the
# prompt and a temperature, which the types are content with, is run without its
# instructions, its tools and its provider options, and nothing tells.
#
# Seen: what the model is given, where prepareCall hands the settings on and where not.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" ai@6.0.326 zod@4.1.12 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import { ToolLoopAgent, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const model = new MockLanguageModelV3({
  doGenerate: async ({ temperature, prompt, tools, providerOptions }) => {
    const roles = prompt.map((message) => message.role).join("+");
    console.log(temperature, roles, tools?.length, JSON.stringify(providerOptions));
    return {
      content: [{ type: "text", text: "ok" }], finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } }, warnings: [],
    };
  },
});

async function shows(prepareCall) {
  const agent = new ToolLoopAgent({
    model,
    instructions: "Never say a price.",
    tools: { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) },
    providerOptions: { vendor: { store: false } },
    prepareCall,
  });
  await agent.generate({ prompt: "hi" });
}

await shows((settings) => ({ ...settings, temperature: 0 }));
await shows(({ model, prompt }) => ({ model, prompt, temperature: 0 }));
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs")
echo "$SEEN"
test "$SEEN" = '0 system+user 1 {"vendor":{"store":false}}
0 user undefined undefined'
