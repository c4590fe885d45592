/** Plays sessions for a harness, which has the model, the tools, the clients and the time. */
import type { Params, Peer } from "../peer/peer.ts";
import { Refs, Streams } from "../peer/streams.ts";
import { Agents, World, serveAgents } from "../peer/world.ts";
import type { About, WireCallbacks, WireTool } from "../peer/world.ts";
import { CallbackAgent } from "./agent.ts";
import { Client } from "./client.ts";
import type { Delivery, ManagerOptions } from "./manager.ts";
import type { Model, Tool } from "./messages.ts";
import { FileStore, MemoryStore, type SessionStore } from "./stores.ts";
import { CALLBACK_TYPES, type AgentCallbacks, type CallbackType } from "./table.ts";
import * as wire from "./wire.ts";

/** A session manager, as far as a harness asks for it. */
export interface Manager {
  setClient(client: Client): void;
  removeClient?(client: Client): void;
  setCallbacks(callbacks: AgentCallbacks): void;
}

export type MakeManager = (
  agent: CallbackAgent,
  options: Required<ManagerOptions>,
  world: World,
) => Manager;

/** One agent with its manager, and what both were made with. */
interface Opened {
  readonly world: World;
  readonly agent: CallbackAgent;
  readonly manager: Manager;
  readonly options: Required<ManagerOptions>;
  readonly clients: Map<number, Client>;
  readonly streams: Streams;
  readonly runs: Map<number, AbortController>;
}

/** Plays sessions for the harness until that ends it. */
export async function serve(about: About, make: MakeManager): Promise<void> {
  const agents = new Agents<Opened>();
  const inner = new Refs<() => Promise<unknown>>();
  const functions = (peer: Peer) => ({
    build: ({ agent, config }: Params) => {
      const world = new World(peer, agent);
      const store = agents.get(config.store)?.options.store ?? storeOf(config.path, peer);
      agents.set(agent, opened(world, optionsOf(world, config, store, inner), config, make));
    },
    session: (params: Params) => DOES[params.do](agents.of(params), params, make),
    run: (params: Params) => ran(agents.of(params), params),
    next: async ({ token }: Params) => ({ given: await inner.get(token)() }),
    pull: (params: Params) => agents.of(params).streams.pull(params.stream),
    close: (params: Params) => agents.of(params).streams.close(params.stream),
    cancel: (params: Params) => agents.of(params).runs.get(params.run)?.abort(),
  });
  await serveAgents({ dialect: "callbacks", ...about }, agents, functions);
}

function storeOf(path: string | null, peer: Peer): SessionStore {
  if (path === null) return new MemoryStore();
  const store = new FileStore(path); // which takes real time, so that time must not move
  return {
    load: (sessionId) => peer.working(store.load(sessionId)),
    save: (state) => peer.working(store.save(state)),
  };
}

function opened(
  world: World,
  options: Required<ManagerOptions>,
  config: Params,
  make: MakeManager,
): Opened {
  const wireTools: WireTool[] = config.tools;
  const tools = wireTools.map(({ tool, name }): Tool => {
    const invoke: Tool["invoke"] = async (call, signal) =>
      String((await world.given(tool, call, signal)).result);
    return { name, invoke };
  });
  const stream: Model["stream"] = (messages, signal) => world.answer(messages, wireTools, signal);
  const agent = new CallbackAgent({ stream }, tools);
  const manager = make(agent, options, world);
  const own = { clients: new Map(), streams: new Streams(), runs: new Map() };
  return { world, agent, manager, options, ...own };
}

function optionsOf(
  world: World,
  { rows, middleware }: Params,
  store: SessionStore,
  inner: Refs<() => Promise<unknown>>,
): Required<ManagerOptions> {
  const around = (at: number) => async (delivery: Delivery, deliver: () => Promise<unknown>) => {
    const token = inner.add(deliver);
    const { owner, number, name } = delivery;
    const told = { owner, number, name: wire.wireName(name) };
    const data = wire.dataTold(name, delivery.data);
    const asked = { handler: at, hook: "around_callback", token, ...told, data };
    try {
      return (await world.call("hook", asked)).given;
    } finally {
      inner.drop(token);
    }
  };
  return {
    store,
    table: [...CALLBACK_TYPES, ...(rows as CallbackType[])],
    middleware: Array.from({ length: middleware }, (_, at) => around(at)),
    warn: (text) => world.tell("warning", { kind: "callback_failed", text }),
  };
}

type Does = (opened: Opened, params: Params, make: MakeManager) => unknown;

/** What the harness does to a manager, or asks it, between sessions and within one. */
const DOES: Record<string, Does> = {
  connect: (opened, { client, callbacks }) => {
    opened.manager.setClient(clientOf(opened, client, callbacks));
  },
  remove: (opened, { client }) => {
    const { manager } = opened;
    if (manager.removeClient === undefined) throw new Error("no client can be taken away");
    manager.removeClient(clientOf(opened, client, null));
  },
  set: (opened, { client, callbacks }) => {
    clientOf(opened, client, null).setAgentCallbacks(callbacksOf(opened.world, callbacks));
  },
  listen: ({ manager, world }, { callbacks }) => {
    try {
      manager.setCallbacks(callbacksOf(world, callbacks) ?? {});
    } catch (error) {
      throw new Error(wire.namesTold(String((error as Error).message))); // as there
    }
  },
  manage: ({ agent, options, world }, _, make) => {
    make(agent, options, world);
  },
  emit: async ({ agent }, { name, data }) => ({
    given: (await agent.emit(name, ...data)) ?? null,
  }),
  stored: async ({ options }, { session_id: sessionId }) => {
    const state = await options.store.load(sessionId);
    return { state: state && wire.stateTold(state) };
  },
};

function clientOf(
  { clients, world }: Opened,
  number: number,
  callbacks: WireCallbacks | null,
): Client {
  const known = clients.get(number);
  if (known !== undefined) return known;
  const client = new Client();
  client.setAgentCallbacks(callbacksOf(world, callbacks));
  clients.set(number, client);
  return client;
}

function callbacksOf(world: World, told: WireCallbacks | null): AgentCallbacks | undefined {
  if (told === null) return undefined;
  const made = told.names.map((wireName) => {
    const name = wire.camel(wireName);
    const callback = async (...data: unknown[]): Promise<unknown> => {
      const given = await world.told(told.callbacks, wireName, wire.dataTold(name, data));
      return name === "loadAgentStorage" ? wire.loadedRead(given, String(data[0])) : given;
    };
    return [name, callback];
  });
  return Object.fromEntries(made);
}

async function ran({ agent, streams, runs }: Opened, params: Params): Promise<object> {
  const { run, session_id: sessionId, texts, stream } = params;
  if (stream) return { stream: streams.offer(told(agent.stream(sessionId, texts))) };
  const stop = new AbortController();
  runs.set(run, stop);
  try {
    return wire.resultTold(await agent.run(sessionId, texts, stop.signal));
  } finally {
    runs.delete(run);
  }
}

async function* told(facts: ReturnType<CallbackAgent["stream"]>): AsyncGenerator<Params> {
  for await (const { name, data } of facts) {
    yield { fact: { name: wire.wireName(name), data: wire.dataTold(name, data) } };
  }
}
