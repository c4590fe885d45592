#!/usr/bin/env bash
# @google/adk 2.0.0 (ADK for TypeScript): a plugin's onModelErrorCallback may return an answer
# to stand for that of a model that failed. The same answer is taken from beforeModelCallback
# and afterModelCallback; this one is told and kept without the author, id and actions that
# make it an event, and then ends the run in a TypeError that names neither the plugin nor the
# model's error. It stays in the session, and as its author is nobody, the next turn quotes
# it to the agent as the words of another agent, named [undefined].
#
# Seen: what a run tells or throws by the callback that gives the answer, and what of it the
# model is sent in the next turn.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" @google/adk@2.0.0 zod@4.6.7 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import {
  BaseLlm, BasePlugin, InMemoryRunner, LlmAgent, LogLevel, setLogLevel,
} from "@google/adk";

setLogLevel(LogLevel.ERROR);
const answer = (text) => ({ content: { role: "model", parts: [{ text }] } });

class FailsOnce extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }

  async *generateContentAsync({ contents }) {
    this.sent = contents.flatMap(({ parts }) => parts.map(({ text }) => text)).join(" / ");
    if (contents.length === 1) throw new Error("overloaded");
    yield answer("ok");
  }
}

async function shows(place) {
  class Falls extends BasePlugin {
    spent = false;

    async [place]() {
      if (this.spent) return undefined;
      this.spent = true;
      return answer("later, please");
    }
  }
  const model = new FailsOnce();
  const agent = new LlmAgent({ name: "a", model });
  const runner = new InMemoryRunner({ agent, appName: "app", plugins: [new Falls("falls")] });
  const who = { appName: "app", userId: "u", sessionId: "s" };
  await runner.sessionService.createSession(who);
  const told = [];
  const turn = async (text) => {
    const newMessage = { role: "user", parts: [{ text }] };
    for await (const { content, author } of runner.runAsync({ ...who, newMessage })) {
      told.push(`${author} says ${content?.parts[0].text}`);
    }
  };
  await turn("hi").catch((error) => told.push(error.name));
  const first = told.join(", ");
  await turn("and now?");
  console.log(`${place}: ${first}; then sent ${model.sent}`);
}

await shows("beforeModelCallback");
await shows("onModelErrorCallback");
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "beforeModelCallback: a says later, please; then sent hi / later, please / and now?
onModelErrorCallback: undefined says later, please, TypeError; then sent hi / For context: / \
[undefined] said: later, please / and now?"
