/** What the harness has for an agent of a dialect: its model, its tools, callbacks, time. */
import type { Params, Peer } from "./peer.ts";
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

export interface WireChunk {
  content?: string;
  tool_calls?: WireCall[];
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
    messages: WireMessage[],
    tools: WireTool[],
    signal?: AbortSignal,
  ): AsyncGenerator<WireChunk, void, void> {
    const { stream } = await this.call("model", { mode: "stream", messages, tools }, signal);
    for await (const piece of pulled(this.peer, { agent: this.agent, stream }, signal)) {
      yield piece.message;
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
