// The program of `plain.py` in another language, with nothing but what Node has itself.
import readline from "node:readline";

const FAULT = process.argv[2] ?? "";
const STREAMS = FAULT === "streams" || FAULT === "cut";
const SESSIONS = process.env.REFENGINE_TURNS === "sessions";
const AGAIN = new Set([429, 500, 503]);
const tool = (name) => ({ name, parameters: { type: "object", properties: {} } });

class Refused extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

function bodyOf(messages) {
  const tools = [tool("add"), tool("subtract")];
  if (FAULT === "tools") tools.reverse();
  return {
    model: "m",
    messages,
    tools: tools.map((each) => ({ type: "function", function: each })),
    ...(FAULT === "cold" ? {} : { temperature: 0.5 }),
    ...(STREAMS ? { stream: true } : {}),
  };
}

async function ask(messages) {
  for (let left = FAULT === "retries" ? 3 : 1; ; left--) {
    try {
      return await asked(JSON.stringify(bodyOf(messages)));
    } catch (error) {
      if (!AGAIN.has(error.status) || left === 0) throw error;
    }
  }
}

async function asked(body) {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", authorization: "Bearer key" },
  });
  if (!response.ok) throw new Refused(response.status);
  if (STREAMS) return joined((await read(response)).split("\n\n"));
  return (await response.json()).choices[0].message;
}

// What came of a stream, even if it was cut.
async function read(response) {
  const decoder = new TextDecoder();
  let found = "";
  try {
    for await (const piece of response.body) found += decoder.decode(piece, { stream: true });
  } catch (error) {
    if (found === "") throw error;
  }
  return found;
}

function joined(events) {
  let content = "";
  const calls = new Map();
  for (const event of events) {
    if (event === "" || event === "data: [DONE]") continue;
    for (const { delta } of JSON.parse(event.slice("data: ".length)).choices) {
      content += delta.content || delta.refusal || "";
      for (const { index, ...piece } of delta.tool_calls ?? []) {
        const empty = { ...piece, function: { ...piece.function, arguments: "" } };
        if (!calls.has(index)) calls.set(index, empty);
        calls.get(index).function.arguments += piece.function.arguments;
      }
    }
  }
  if (!events.includes("data: [DONE]") && FAULT !== "cut") throw new Error("cut");
  return { content, tool_calls: [...calls.values()] };
}

async function turn(messages, text) {
  messages.push({ role: "user", content: text });
  let said = await ask(messages);
  while (said.tool_calls?.length) {
    const rounds = FAULT === "serial" ? said.tool_calls.map((each) => [each]) : [said.tool_calls];
    for (const some of rounds) messages.push({ role: "assistant", tool_calls: some }, ...results(some));
    said = await ask(messages);
  }
  const swallowed = said.refusal && FAULT === "swallows";
  const answer = swallowed ? "" : said.content || said.refusal || "";
  if (FAULT !== "forgetful") messages.push({ role: "assistant", content: answer });
  return answer;
}

function results(calls) {
  const given = calls.map((each) => `${each.function.name} ${each.function.arguments}`);
  if (FAULT === "ids") given.reverse();
  return calls.map((each, at) => ({ role: "tool", tool_call_id: each.id, content: given[at] }));
}

async function said(messages, text) {
  try {
    return { answer: await turn(messages, text) };
  } catch (error) {
    if (!SESSIONS) throw error;
    return { error: error instanceof Refused ? error.message : "cut" };
  }
}

let messages = [];
let number = null;
for await (const line of readline.createInterface({ input: process.stdin })) {
  let text = line;
  if (SESSIONS) {
    const given = JSON.parse(line);
    if (given.session !== number) messages = [];
    [number, text] = [given.session, given.turn];
  }
  const found = await said(messages, text);
  process.stdout.write(`${SESSIONS ? JSON.stringify(found) : found.answer}\n`);
}
