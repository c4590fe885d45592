/**
 * A driver: an agent loop that a harness plays by JSON-RPC.
 *
 * Put your engine in the place of loop(). Model, tools and hooks are the harness's: ask for
 * each by call(), and tell what happens by send(). docs/protocol.md of refengine has every
 * frame; "refengine driver check" looks at each function.
 */
import { createInterface } from "node:readline";

interface Call {
  id: string;
  name: string;
  arguments: string;
}
interface Message {
  role: string;
  content?: string;
  tool_calls?: Call[];
  tool_call_id?: string;
  name?: string;
}
interface Tool {
  tool: number;
  name: string;
  description: string;
}
interface Config {
  name: string;
  instruction: string;
  tools: Tool[];
  handlers: string[][];
  return_directly: Record<string, boolean>;
  max_iterations: number;
}
interface Run {
  agent: number;
  run: number;
  ctx: number;
  messages: Message[];
}
type Params = Record<string, any>;

const CAPABILITIES = [
  ...["before_model", "wrap_tool", "parallel_calls", "equal_call_ids"],
  ...["several_handlers", "context", "arguments_text", "lone_surrogates"],
  ...["next_twice", "return_directly"],
];

/** An exception of the harness, which keeps its number, or one of this engine. */
class Failed extends Error {
  data: Params;

  constructor(message: string, data: Params) {
    super(message);
    this.data = data;
  }
}

// This end of the connection: each side may call while it is being called.

const waiting = new Map<number, { resolve: (result: any) => void; reject: (error: Failed) => void }>();
const inner = new Map<number, (next: Params) => Promise<Params>>();
let last = 0;

function send(frame: Params): void {
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...frame }) + "\n");
}

/** Asks the harness. */
function call(method: string, params: Params): Promise<any> {
  const id = ++last;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

/** Asks for a wrapper; by its token it goes on into what it stands around. */
async function around(params: Params, into: (next: Params) => Promise<Params>): Promise<any> {
  const token = ++last;
  inner.set(token, into);
  try {
    return await call("hook", { token, ...params });
  } finally {
    inner.delete(token);
  }
}

function take(frame: Params): void {
  if (frame["method"] !== undefined) {
    void answer(frame);
    return;
  }
  const waiter = waiting.get(frame["id"]);
  waiting.delete(frame["id"]);
  const error = frame["error"];
  if (error) waiter?.reject(new Failed(error.message, error.data ?? {}));
  else waiter?.resolve(frame["result"]);
}

async function answer({ id, method, params }: Params): Promise<void> {
  const run = functions[method];
  const code = run ? -32000 : -32601;
  let reply: Params;
  try {
    if (!run) throw new Failed(`there is no method '${method}'`, {});
    reply = { result: (await run(params ?? {})) ?? {} };
  } catch (error) {
    reply = { error: told(error, code) };
  }
  if (id !== undefined) send({ id, ...reply });
  if (method === "shutdown") process.stdin.destroy();
}

function told(error: unknown, code = -32000): Params {
  const message = error instanceof Error ? error.message : String(error);
  return { code, message, data: error instanceof Failed ? error.data : {} };
}

// The engine

const agents = new Map<number, Config>();

/** Plays a run: this is where your engine goes. */
async function run(asked: Run): Promise<void> {
  const config = agents.get(asked.agent) as Config;
  const event = { agent: asked.agent, run: asked.run, name: config.name };
  const tell = (more: Params) => send({ method: "event", params: { ...event, ...more } });
  try {
    for await (const message of loop(config, asked)) tell({ role: message.role, message });
  } catch (error) {
    tell({ error: told(error) });
  }
}

/** Yields every answer of the model, and every result of a tool. */
async function* loop(config: Config, { agent, ctx, messages }: Run): AsyncGenerator<Message> {
  const system = { role: "system", content: config.instruction };
  let history: Message[] = config.instruction ? [system, ...messages] : messages;
  const tools = new Map(config.tools.map((each) => [each.name, each]));
  const infos = [...tools.values()].map(({ name, description }) => ({ name, description }));
  for (let iteration = 0; iteration < config.max_iterations; iteration++) {
    [ctx, history] = await beforeModel(config, agent, ctx, history);
    const asked = { agent, mode: "invoke", ctx, messages: history, tools: infos };
    const response: Message = await call("model", asked);
    history = [...history, response];
    yield response;
    const calls = response.tool_calls ?? [];
    if (!calls.length) return;
    const unknown = calls.find((each) => !tools.has(each.name));
    if (unknown) throw new Failed(`tool ${unknown.name} not found`, { kind: "unknown_tool" });
    for (const each of calls) {
      const content = await called(config, agent, tools.get(each.name) as Tool, each, ctx);
      history.push({ role: "tool", content, name: each.name, tool_call_id: each.id });
      yield history.at(-1) as Message;
    }
    if (calls.some((each) => config.return_directly[each.name])) return;
  }
  throw new Failed("too many iterations", { kind: "max_iterations" });
}

async function beforeModel(
  config: Config,
  agent: number,
  ctx: number,
  messages: Message[],
): Promise<[number, Message[]]> {
  const hook = "before_model_rewrite_history";
  for (const [handler, hooks] of config.handlers.entries()) {
    if (hooks.includes(hook)) {
      const got = await call("hook", { agent, handler, hook, ctx, messages });
      [ctx, messages] = [got.ctx, got.messages];
    }
  }
  return [ctx, messages];
}

/** Calls a tool through all wrappers, the first of them outermost. */
async function called(
  config: Config,
  agent: number,
  tool: Tool,
  { id, name, arguments: written }: Call,
  ctx: number,
): Promise<string> {
  const hook = "wrap_invokable_tool_call";
  const wraps = [...config.handlers.keys()].filter((at) => config.handlers[at]?.includes(hook));
  function inside(depth: number, ctx: number, args: string): Promise<Params> {
    const given = { agent, ctx, arguments: args, call_id: id };
    const handler = wraps[depth];
    if (handler === undefined) return call("tool", { ...given, tool: tool.tool, mode: "invoke" });
    return around({ ...given, handler, hook, name }, (next) =>
      inside(depth + 1, next["ctx"], next["arguments"]),
    );
  }
  return (await inside(0, ctx, written))["result"];
}

const functions: Record<string, (params: any) => unknown> = {
  initialize: () => ({
    ...{ protocol: 2, engine: "mine", version: "0.1", language: "typescript" },
    ...{ dialect: "react", profile: "seed-001", capabilities: CAPABILITIES },
  }),
  build: ({ agent, config }) => void agents.set(agent, config),
  run,
  next: (params) => inner.get(params.token)?.(params),
  cancel: () => undefined, // this engine has no way to stop early
  settle: () => undefined, // it does nothing while it waits
  reset: ({ agent }) => void agents.delete(agent),
  shutdown: () => undefined,
};

createInterface({ input: process.stdin }).on("line", (line) => take(JSON.parse(line)));
