/** The driver of the loop: plays it for a harness, which has the model, tools and time. */
import { Peer, PROTOCOL, type Params } from "../peer/peer.ts";
import { World, type WireTool } from "../peer/world.ts";
import { BaseAISystem, LinearAISystem } from "./loop.ts";
import type { ProcessParams, SystemOptions, Tool, ToolResult } from "./loop.ts";
import * as wire from "./wire.ts";

const ABOUT = {
  protocol: PROTOCOL,
  engine: "typescript-loop",
  version: "1",
  language: "typescript",
  dialect: "stream-loop",
  profile: "loop-safe",
  capabilities: [
    ...["loops", "linear", "history", "instruction", "prompts", "parts"],
    ...["status", "errors", "limits", "logs", "cancellation"],
  ],
};

interface Agent {
  system: LinearAISystem;
  tools: Tool[];
  world: World;
  stop: AbortController;
}

const agents = new Map<number, Agent>();

const peer = new Peer(
  { initialize: () => ABOUT, build, run, cancel, reset },
  { dataOf: wire.dataOf, quiet: 0 }, // there is no timer here: time is the harness's
);

function build({ agent, config }: Params): void {
  const world = new World(peer, agent);
  const wireTools: WireTool[] = config.tools;
  const options: SystemOptions = {
    model: {
      async *stream(messages, _, signal) {
        const told = messages.map(wire.messageTold);
        for await (const chunk of world.answer(told, wireTools, signal)) {
          yield wire.chunkRead(chunk);
        }
      },
    },
    instruction: config.instruction,
    limits: wire.limitsRead(config.limits),
    newId: async () => (await world.call("new_id", {})).id,
    clock: { now: () => world.now(), sleep: (seconds, signal) => world.sleep(seconds, signal) },
    log: (level, fields) => world.tell("log", { level, fields }),
    warn: (kind, text) => world.tell("warning", { kind, text }),
  };
  const tools = wireTools.map(({ tool, name }): Tool => {
    const invoke: Tool["invoke"] = async (call, signal) =>
      wire.givenRead(await world.given(tool, call, signal));
    return { name, invoke };
  });
  const system = systemOf(config.form, config.next_prompt, options);
  agents.set(agent, { system, tools, world, stop: new AbortController() });
}

function systemOf(
  form: string,
  prompt: string | null,
  options: SystemOptions,
): LinearAISystem {
  if (form === "linear") return new LinearAISystem(options);
  return prompt === null ? new BaseAISystem(options) : new Prompting(options, prompt);
}

/** A loop whose own step makes the next prompt. */
class Prompting extends BaseAISystem {
  readonly #prompt: string;

  constructor(options: SystemOptions, prompt: string) {
    super(options);
    this.#prompt = prompt;
  }

  protected override buildNextPrompt(_: ToolResult): string {
    return this.#prompt;
  }
}

async function run(params: Params): Promise<object> {
  const { system, tools, world, stop } = found(params);
  const { callbacks: number, names } = params.callbacks;
  const tell = async (name: string, ...data: unknown[]): Promise<void> => {
    await world.told(number, name, data);
  };
  const all: Required<Omit<ProcessParams, "input" | "tools" | "maxIterations" | "history" | "signal">> = {
    onChunk: (chunk) => tell("on_chunk", chunk),
    onToolCall: (call) => tell("on_tool_call", wire.callTold(call)),
    onToolResult: (result) => tell("on_tool_result", wire.resultTold(result)),
    onPartEvent: (event) => tell("on_part_event", wire.partTold(event)),
    onPartsChange: (parts) => tell("on_parts_change", [...parts].map(wire.partTold)),
    onError: (error, where) => tell("on_error", wire.errorTold(error), snake(where)),
    onEnd: (result) => tell("on_end", wire.endTold(result)),
  };
  const heard = Object.entries(all).filter(([name]) => names.includes(snake(name)));
  const most = params.max_iterations;
  const result = await system.processInputStreamWithTools({
    input: params.input,
    tools,
    history: params.history.map(wire.messageRead),
    signal: stop.signal,
    ...(most !== null && { maxIterations: most === "NaN" ? NaN : most }),
    ...Object.fromEntries(heard),
  });
  return wire.endTold(result);
}

/** Returns onToolCall as on_tool_call. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function cancel(params: Params): void {
  found(params).stop.abort();
}

function reset({ agent }: Params): void {
  agents.delete(agent);
}

function found({ agent }: Params): Agent {
  const known = agents.get(agent);
  if (known === undefined) throw new Error(`no agent ${agent} was built`);
  return known;
}

await peer.serve();
