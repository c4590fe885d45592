// What all programs in Node have: tools, and turns read as lines of JSON.
import readline from "node:readline";
import OpenAI from "openai";

export const INSTRUCTIONS = "You help customers with their orders. Pay back only what was paid.";
const ORDERS = new Map([["A-1", "books, 20 EUR"], ["A-2", "a lamp, 35 EUR"]]);
const ORDER = {
  type: "object",
  properties: { order: { type: "string" } },
  required: ["order"],
  additionalProperties: false,
};
const TOOLS = { find_order: "Say what an order holds.", pay_back: "Pay an order back." };

export const tools = Object.entries(TOOLS).map(([name, description]) => ({
  type: "function", name, description, parameters: ORDER, strict: false,
}));

export function run(name, given) {
  let order;
  try {
    order = JSON.parse(given).order;
  } catch {
    return "The arguments are wrong.";
  }
  if (order === undefined) return "The arguments are wrong.";
  if (!(name in TOOLS)) return "There is no such tool.";
  if (!ORDERS.has(order)) return "There is no such order.";
  return name === "pay_back" ? "It is paid back." : ORDERS.get(order);
}

export function refused(done) {
  const parts = done.output.flatMap((each) => each.content ?? []);
  return parts.filter((part) => part.type === "refusal").map((part) => part.refusal).join("");
}

export async function serve(begin) {
  let session = null;
  let turn = begin();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    if (asked.session !== session) {
      session = asked.session;
      turn = begin();
    }
    process.stdout.write(`${JSON.stringify(await said(turn, asked.turn))}\n`);
  }
}

async function said(turn, text) {
  try {
    return { answer: await turn(text) };
  } catch (error) {
    if (error instanceof OpenAI.APIConnectionError) return { error: "no connection" };
    if (error instanceof OpenAI.APIError) return { error: `status ${error.status}` };
    throw error;
  }
}
