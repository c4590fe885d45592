// The agent with Responses in Node; the history is stored at the vendor.
import OpenAI from "openai";
import { INSTRUCTIONS, refused, run, serve, tools } from "./shop.mjs";

const client = new OpenAI();

function begin() {
  let last;
  let unsaid = []; // a request that failed has stored nothing of what it said
  return async function turn(text) {
    unsaid.push({ role: "user", content: text });
    for (;;) {
      const done = await client.responses.create({
        model: "gpt-4.1",
        instructions: INSTRUCTIONS,
        previous_response_id: last,
        input: unsaid,
        tools,
        temperature: 0.2,
      });
      last = done.id;
      const calls = done.output.filter((each) => each.type === "function_call");
      unsaid = calls.map((call) => ({
        type: "function_call_output",
        call_id: call.call_id,
        output: run(call.name, call.arguments),
      }));
      if (calls.length === 0) return done.output_text || refused(done);
    }
  };
}

await serve(begin);
