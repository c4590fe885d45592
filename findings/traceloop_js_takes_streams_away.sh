#!/usr/bin/env bash
# @traceloop/instrumentation-langchain 0.27.0 with langchain 1.5.14, @langchain/core 1.4.0 and
# @langchain/langgraph 1.7.3 (JavaScript): with the instrumentation on, an agent's stream of
# messages is empty. Each time callbacks are configured, the handlers that were there are kept
# only if they are a list; inside a graph they are a manager, which the instrumentation's own
# handler replaces. So the handler by which LangGraph streams messages is gone, the model is
# asked for a whole answer, and handlers that the caller gives hear nothing of it either.
# Reported for another part of LangChain: https://github.com/traceloop/openllmetry-js/issues/1016
#
# Seen, without it and with it: by which method the model is asked, and how many pieces of its
# answer the consumer of the stream sees, and how often the caller's own handler hears of it.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" langchain@1.5.14 \
  @langchain/core@1.4.0 @langchain/langgraph@1.7.3 @opentelemetry/api@1.9.1 \
  @traceloop/instrumentation-langchain@0.27.0 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import * as callbackManagerModule from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { LangChainInstrumentation } from "@traceloop/instrumentation-langchain";
import { createAgent } from "langchain";

let asked;
class Model extends BaseChatModel {
  _llmType() {
    return "mine";
  }
  bindTools() {
    return this;
  }
  async _generate() {
    asked = "whole";
    return { generations: [{ text: "ab", message: new AIMessage("ab") }] };
  }
  async *_streamResponseChunks(_messages, _options, manager) {
    asked = "in pieces";
    for (const text of ["a", "b"]) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      yield chunk;
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

async function seen() {
  let pieces = 0;
  let heard = 0;
  const callbacks = [{ handleChatModelStart: () => (heard += 1) }];
  const agent = createAgent({ model: new Model({}), tools: [] });
  const messages = [{ role: "user", content: "hi" }];
  for await (const _ of await agent.stream({ messages }, { streamMode: "messages", callbacks })) pieces += 1;
  return `${asked}, ${pieces} seen, ${heard} heard`;
}

if (process.argv[2] === "on") new LangChainInstrumentation().manuallyInstrument({ callbackManagerModule });
console.log(await seen());
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs" && node "$WORK/shows.mjs" on)
echo "$SEEN"
test "$SEEN" = "in pieces, 2 seen, 1 heard
whole, 0 seen, 0 heard"
