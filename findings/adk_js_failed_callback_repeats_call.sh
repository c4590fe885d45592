#!/usr/bin/env bash
# @google/adk 2.0.0 (ADK for TypeScript): an error in a callback around a tool does not end
# the run, as one in a callback around the model does. It becomes an event with an error, the
# call gets no result, the results of its siblings are lost, and the model is asked once more,
# with calls that nobody answered. So a callback behind a tool that fails to write its log
# makes a model that still wants the result call the tool again, though it has run.
#
# Seen: the events of a run, how often the tool ran, and how many calls and results the last
# request had, by the callback that throws once.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
npm install --silent --no-audit --no-fund --prefix "$WORK" @google/adk@2.0.0 zod@4.6.7 >&2
cat >"$WORK/shows.mjs" <<'JAVASCRIPT'
import {
  BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, LogLevel, setLogLevel,
} from "@google/adk";
import { z } from "zod";

setLogLevel(LogLevel.ERROR);
const count = (contents, kind) =>
  contents.flatMap(({ parts }) => parts).filter((part) => part[kind]).length;

class PaysOnce extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }

  async *generateContentAsync({ contents }) {
    this.sent = ["functionCall", "functionResponse"].map((kind) => count(contents, kind));
    const done = this.sent[1] > 0;
    const calls = ["look", "pay"].map((name) => ({ functionCall: { name, args: {} } }));
    yield { content: { role: "model", parts: done ? [{ text: "ok" }] : calls } };
  }
}

async function shows(place) {
  let paid = 0;
  let thrown = false;
  const parameters = z.object({});
  const tool = (name, execute) =>
    new FunctionTool({ name, description: name, parameters, execute });
  const tools = [
    tool("look", () => ({ seen: 1 })), tool("pay", () => ({ receipt: (paid += 1) })),
  ];
  const fails = ({ tool }) => {
    if (thrown || (tool && tool.name !== "pay")) return undefined;
    thrown = true;
    throw new Error("the log is full");
  };
  const model = new PaysOnce();
  const agent = new LlmAgent({ name: "a", model, tools, [place]: fails });
  const runner = new InMemoryRunner({ agent, appName: "app" });
  const who = { appName: "app", userId: "u", sessionId: "s" };
  await runner.sessionService.createSession(who);
  const newMessage = { role: "user", parts: [{ text: "pay once" }] };
  const told = [];
  for await (const event of runner.runAsync({ ...who, newMessage })) {
    const [part] = event.content?.parts ?? [{}];
    told.push(event.errorMessage ?? part.text ?? Object.keys(part)[0]);
  }
  console.log(`${place}: ${told.join(", ")}; paid ${paid}; sent ${model.sent}`);
}

for (const place of ["afterToolCallback", "beforeToolCallback", "afterModelCallback"]) {
  await shows(place);
}
JAVASCRIPT
SEEN=$(node "$WORK/shows.mjs" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "afterToolCallback: functionCall, the log is full, functionCall, \
functionResponse, ok; paid 2; sent 4,2
beforeToolCallback: functionCall, the log is full, functionCall, \
functionResponse, ok; paid 1; sent 4,2
afterModelCallback: the log is full; paid 0; sent 0,0"
