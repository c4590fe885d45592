/** Plays a loop for a harness, which has the model, the tools, the callbacks and the time. */
import type { Params, Peer } from "../peer/peer.ts";
import { Agents, World, messageRead, serveAgents } from "../peer/world.ts";
import type { About, WireCallbacks, WireTool } from "../peer/world.ts";
import type { ResponseCallbacks } from "./callbacks.ts";
import type { Clock, LoopResult, ProcessParams, SystemOptions, Tool } from "./loop.ts";
import * as wire from "./wire.ts";

/** What is played: the loop, or whatever takes the same parameters. */
export interface System {
  processInputStreamWithTools(params: ProcessParams): Promise<LoopResult | string>;
}

/** Returns the system of a form whose next prompt is that, if it is not null. */
export type MakeSystem = (form: string, prompt: string | null, options: SystemOptions) => System;

interface Agent {
  system: System;
  tools: Tool[];
  world: World;
  stop: AbortController;
}

/** Plays a system for the harness until that ends it. */
export async function serve(about: About, make: MakeSystem): Promise<void> {
  const agents = new Agents<Agent>();
  const functions = (peer: Peer) => ({
    build: ({ agent, config }: Params) => {
      agents.set(agent, built(new World(peer, agent), config, make));
    },
    run: (params: Params) => ran(agents.of(params), params),
    cancel: (params: Params) => agents.of(params).stop.abort(),
  });
  await serveAgents({ dialect: "stream-loop", ...about }, agents, functions, wire.dataOf);
}

function built(world: World, config: Params, make: MakeSystem): Agent {
  const wireTools: WireTool[] = config.tools;
  const tools = wireTools.map(({ tool, name }): Tool => {
    const invoke: Tool["invoke"] = async (call, signal) =>
      wire.givenRead(await world.given(tool, call, signal));
    return { name, invoke };
  });
  const system = make(config.form, config.next_prompt, optionsOf(world, config, wireTools));
  return { system, tools, world, stop: new AbortController() };
}

function optionsOf(world: World, config: Params, tools: WireTool[]): SystemOptions {
  const now = () => world.now();
  const sleep: Clock["sleep"] = (seconds, signal) => world.sleep(seconds, signal);
  return {
    model: { stream: (messages, _, signal) => world.answer(messages, tools, signal) },
    instruction: config.instruction,
    limits: wire.limitsRead(config.limits),
    newId: async () => (await world.call("new_id", {})).id,
    clock: { now, sleep },
    log: (level, fields) => world.tell("log", { level, fields }),
    warn: (kind, text) => world.tell("warning", { kind, text }),
  };
}

async function ran({ system, tools, world, stop }: Agent, params: Params): Promise<object> {
  const most = params.max_iterations;
  const result = await system.processInputStreamWithTools({
    input: params.input,
    tools,
    history: params.history.map(messageRead),
    signal: stop.signal,
    ...(most !== null && { maxIterations: most === "NaN" ? NaN : most }),
    ...callbacksOf(world, params.callbacks),
  });
  return typeof result === "string" ? { text: result } : wire.endTold(result);
}

function callbacksOf(world: World, { callbacks, names }: WireCallbacks): ResponseCallbacks {
  const tell = async (name: string, ...data: unknown[]): Promise<void> => {
    await world.told(callbacks, name, data);
  };
  const all: Required<ResponseCallbacks> = {
    onChunk: (chunk) => tell("on_chunk", chunk),
    onToolCall: (call) => tell("on_tool_call", wire.callTold(call)),
    onToolResult: (result) => tell("on_tool_result", wire.resultTold(result)),
    onPartEvent: (event) => tell("on_part_event", wire.partTold(event)),
    onPartsChange: (parts) => tell("on_parts_change", [...parts].map(wire.partTold)),
    onError: (error, where) => tell("on_error", wire.errorTold(error), snake(where)),
    onEnd: (result) => tell("on_end", wire.endTold(result)),
  };
  const heard = Object.entries(all).filter(([name]) => names.includes(snake(name)));
  return Object.fromEntries(heard);
}

/** Returns onToolCall as on_tool_call. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
