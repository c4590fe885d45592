// A conversation by an official client of Node: of which interface; whole, then streamed.
const SYSTEM = "Be brief.";
const TURNS = ["What is 1 and 2?", "And once more?"];
const ABOUT = "Add two numbers.";
const SCHEMA = {
  type: "object",
  properties: { a: { type: "integer" }, b: { type: "integer" } },
  required: ["a", "b"],
};
// What else each request asks, under the names of this client.
const MORE = JSON.parse(process.env.MORE ?? "{}");
const add = (given) => {
  const { a, b } = typeof given === "string" ? JSON.parse(given) : given;
  return String(a + b);
};

async function chat(streamed) {
  const { default: OpenAI } = await import("openai");
  const client = new OpenAI();
  const how = {
    model: "m", temperature: 0.5, max_completion_tokens: 100, ...MORE,
    tools: [{ type: "function", function: { name: "add", description: ABOUT, parameters: SCHEMA } }],
  };
  const messages = [{ role: "system", content: SYSTEM }];
  for (const content of TURNS) {
    messages.push({ role: "user", content });
    for (;;) {
      const done = streamed
        ? await client.chat.completions.stream({ ...how, messages }).finalChatCompletion()
        : await client.chat.completions.create({ ...how, messages });
      const said = done.choices[0].message;
      const calls = said.tool_calls ?? [];
      messages.push({ role: "assistant", content: said.content, ...(calls.length ? { tool_calls: calls } : {}) });
      for (const call of calls)
        messages.push({ role: "tool", tool_call_id: call.id, content: add(call.function.arguments) });
      if (!calls.length) break;
    }
  }
}

async function responses(streamed) {
  const { default: OpenAI } = await import("openai");
  const client = new OpenAI();
  const how = {
    model: "m", instructions: SYSTEM, temperature: 0.5, max_output_tokens: 100, ...MORE,
    tools: [{ type: "function", name: "add", description: ABOUT, parameters: SCHEMA, strict: false }],
  };
  let last;
  for (const content of TURNS) {
    let input = [{ role: "user", content }];
    while (input.length) {
      const asked = { ...how, input, previous_response_id: last };
      const done = streamed
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked);
      last = done.id;
      input = done.output
        .filter((each) => each.type === "function_call")
        .map((each) => ({ type: "function_call_output", call_id: each.call_id, output: add(each.arguments) }));
    }
  }
}

async function anthropic(streamed) {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const client = new Anthropic();
  const how = {
    model: "m", system: SYSTEM, temperature: 0.5, max_tokens: 100, ...MORE,
    tools: [{ name: "add", description: ABOUT, input_schema: SCHEMA }],
  };
  const messages = [];
  for (const text of TURNS) {
    let content = text;
    while (content.length) {
      messages.push({ role: "user", content });
      const done = streamed
        ? await client.messages.stream({ ...how, messages }).finalMessage()
        : await client.messages.create({ ...how, messages });
      messages.push({ role: "assistant", content: done.content });
      content = done.content
        .filter((each) => each.type === "tool_use")
        .map((each) => ({ type: "tool_result", tool_use_id: each.id, content: add(each.input) }));
    }
  }
}

async function gemini(streamed) {
  const { GoogleGenAI } = await import("@google/genai");
  const client = new GoogleGenAI({
    apiKey: process.env.GEMINI_API_KEY,
    httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL },
  });
  const config = {
    systemInstruction: SYSTEM, temperature: 0.5, maxOutputTokens: 100, ...MORE,
    tools: [{ functionDeclarations: [{ name: "add", description: ABOUT, parametersJsonSchema: SCHEMA }] }],
  };
  const contents = [];
  for (const text of TURNS) {
    let parts = [{ text }];
    while (parts.length) {
      contents.push({ role: "user", parts });
      const asked = { model: "m", contents, config };
      const said = [];
      if (streamed) {
        for await (const each of await client.models.generateContentStream(asked))
          said.push(...each.candidates[0].content.parts);
      } else {
        said.push(...(await client.models.generateContent(asked)).candidates[0].content.parts);
      }
      contents.push({ role: "model", parts: said });
      parts = said.filter((each) => each.functionCall).map(({ functionCall }) => ({
        functionResponse: { id: functionCall.id, name: "add", response: { result: add(functionCall.args) } },
      }));
    }
  }
}

const CLIENTS = { chat, responses, anthropic, gemini };
for (const streamed of [false, true]) await CLIENTS[process.argv[2]](streamed);
