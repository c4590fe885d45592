/** What the harness has for an agent of a dialect: its model, its tools, callbacks, time. */
import { type DataOf, Failure, type FailureData, PROTOCOL, type Params, Peer } from "./peer.ts";
import type { PeerFunction } from "./peer.ts";
import { pulled } from "./streams.ts";

/** A call of a tool as it stands in a frame; in a chunk, a piece of one. */
export interface WireCall {
  id: string;
  name: string;
  arguments: string;
  index?: number;
}

export interface WireMessage {
  role: "system" | "user" | "assistant" | "tool";
  content?: string;
  tool_calls?: WireCall[];
  tool_call_id?: string;
  name?: string;
}

export interface WireTool {
  tool: number;
  name: string;
  description: string;
}

/** A message as the agents of dialects have it. */
export interface PlainMessage {
  readonly role: WireMessage["role"];
  readonly content: string;
  readonly toolCalls?: readonly WireCall[];
  readonly toolCallId?: string;
  readonly name?: string;
}

export function messageTold(message: PlainMessage): WireMessage {
  const { role, content, toolCalls = [], toolCallId, name } = message;
  return {
    role,
    content,
    ...(toolCalls.length && { tool_calls: [...toolCalls] }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(name !== undefined && { name }),
  };
}

export function messageRead(told: WireMessage): PlainMessage {
  const { role, content = "", tool_calls: toolCalls, tool_call_id: toolCallId, name } = told;
  return {
    role,
    content,
    ...(toolCalls && { toolCalls }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
  };
}

/** Returns whose an error is: the harness's by its number; a cancellation by its kind. */
export function dataOf(error: unknown): FailureData {
  if (error instanceof Failure) return error.data;
  return error instanceof Error && error.name === "AbortError" ? { kind: "cancelled" } : {};
}

/** A chunk of an answer as the agents of dialects have it. */
export interface PlainChunk {
  readonly content: string;
  readonly calls: readonly WireCall[];
}

/** What a tool gave: a result, which should be a text, or an output with more to say. */
export interface WireGiven {
  result?: unknown;
  output?: { result: unknown; requires_follow_up: unknown };
}

/** A set of callbacks that somebody listens with: its number, and which there are. */
export interface WireCallbacks {
  callbacks: number;
  names: string[];
}

/** The world of one agent. */
export class World {
  readonly peer: Peer;
  readonly agent: number;

  constructor(peer: Peer, agent: number) {
    this.peer = peer;
    this.agent = agent;
  }

  /** Calls the harness about this agent. */
  call(method: string, params: Params, signal?: AbortSignal): Promise<any> {
    return this.peer.call(method, { agent: this.agent, ...params }, signal);
  }

  tell(method: string, params: Params): void {
    this.peer.tell(method, { agent: this.agent, ...params });
  }

  /** Yields the chunks of an answer. */
  async *answer(
    history: readonly PlainMessage[],
    tools: WireTool[],
    signal?: AbortSignal,
  ): AsyncGenerator<PlainChunk, void, void> {
    const asked = { mode: "stream", messages: history.map(messageTold), tools };
    const { stream } = await this.call("model", asked, signal);
    for await (const { message } of pulled(this.peer, { agent: this.agent, stream }, signal)) {
      yield { content: message.content ?? "", calls: message.tool_calls ?? [] };
    }
  }

  /** Calls a tool by its number. */
  given(
    tool: number,
    call: { id: string; arguments: string },
    signal?: AbortSignal,
  ): Promise<WireGiven> {
    const params = { tool, mode: "invoke", call_id: call.id, arguments: call.arguments };
    return this.call("tool", params, signal);
  }

  /** Tells a callback of a set, and returns what it gives. */
  async told(callbacks: number, name: string, data: unknown[]): Promise<unknown> {
    return (await this.call("callback", { callbacks, name, data })).given;
  }

  /** Returns the harness's time, in seconds since its play began. */
  async now(): Promise<number> {
    return (await this.call("now", {})).seconds;
  }

  /** Returns when so many seconds of the harness's time have passed. */
  async sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    await this.call("sleep", { seconds }, signal);
  }
}

/** What a driver says of itself. */
export interface About {
  engine: string;
  profile: string;
  capabilities: readonly string[];
}

/** The agents of a dialect by their numbers. */
export class Agents<A> extends Map<number, A> {
  /** Returns the agent that a call is about. */
  of({ agent }: Params): A {
    const known = this.get(agent);
    if (known === undefined) throw new Error(`no agent ${agent} was built`);
    return known;
  }
}

/** Plays agents of a dialect for the harness until that ends it. */
export async function serveAgents<A>(
  about: About & { dialect: string },
  agents: Agents<A>,
  functions: (peer: Peer) => Record<string, PeerFunction>,
  told: DataOf = dataOf,
): Promise<void> {
  const all: Record<string, PeerFunction> = {
    initialize: () => ({ protocol: PROTOCOL, version: "1", language: "typescript", ...about }),
    reset: ({ agent }) => void agents.delete(agent),
  };
  // There is no timer here, since time is the harness's: what can run has run at once.
  const peer = new Peer(all, { dataOf: told, quiet: 0 });
  Object.assign(all, functions(peer));
  await peer.serve();
}
