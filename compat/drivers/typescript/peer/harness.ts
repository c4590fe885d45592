/** The harness as one agent has it: its model, its tools and its hooks. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";

import type { MessageTold, Piece, ToolTold } from "./frames.ts";
import type { Params, Peer } from "./peer.ts";
import { Refs, Streams, pulled } from "./streams.ts";

/** Where something is called: for which agent, in which context, for which call of a tool. */
interface Place {
  harness: Harness;
  ctx?: number | undefined;
  callId?: string;
}

const PLACE = new AsyncLocalStorage<Place>();

/** The rest of a call, as a wrapper of the harness goes on into it. */
export type Inner = (next: Params) => Promise<Params>;

/** What the model is told of a tool; `parameters` is the JSON schema of one that a subject brings. */
export type InfoTold = Pick<ToolTold, "name" | "description"> & { parameters?: object };

/** What is asked of the model beside messages and tools. */
export type Settings = Record<string, unknown>;

/** What an agent asks of the harness, and what it holds for it. */
export class Harness {
  readonly agent: number;
  /** Messages that were told, so that the very one comes back. */
  readonly refs = new Refs<object>();
  /** Streams that the harness pulls. */
  readonly streams = new Streams();
  #inner = new Refs<Inner>();
  #peer: Peer;
  /** What a subject told and has no answer yet. */
  #untold = new Set<Promise<unknown>>();

  constructor(peer: Peer, agent: number) {
    this.#peer = peer;
    this.agent = agent;
  }

  /** Does something in a context of the harness. */
  within<T>(ctx: number | undefined, work: () => T): T {
    return PLACE.run({ harness: this, ctx }, work);
  }

  /** Does something for a call of a tool. */
  calling<T>(callId: string, work: () => T): T {
    return PLACE.run({ harness: this, ctx: PLACE.getStore()?.ctx, callId }, work);
  }

  async #ask(method: string, params: Params): Promise<Params> {
    if (this.#untold.size) await this.caughtUp();
    return this.#peer.call(method, { agent: this.agent, ctx: PLACE.getStore()?.ctx, ...params });
  }

  // What a subject asks and tells

  /** Returns the harness of the agent for which something is called. */
  static current(): Harness {
    const found = PLACE.getStore();
    if (found === undefined) throw new Error("no agent is at work: call this where the agent calls you");
    return found.harness;
  }

  /** Asks or tells what a subject does; what the agent asks next goes out after it. */
  ofSubject(method: string, params: Params): Promise<Params> {
    const { ctx = 0, callId = "" } = PLACE.getStore() ?? {};
    const said = this.#peer.call(method, { agent: this.agent, ctx, call_id: callId, ...params });
    const told = said.finally(() => this.#untold.delete(told));
    told.catch(() => {}); // who called has the same promise
    this.#untold.add(told);
    return said;
  }

  /** Waits for what a subject told without waiting for it. */
  async caughtUp(): Promise<void> {
    await Promise.allSettled(this.#untold);
  }

  /** Waits until all has run that can run, and what a subject asked for is answered. */
  quiet(): Promise<void> {
    const quiet = async () => {
      do {
        await this.caughtUp();
        await setImmediate();
      } while (this.#untold.size);
    };
    return this.#peer.working(quiet());
  }

  /** Tells that a hook of a subject is entered. */
  entered(hook: string): void {
    this.#peer.tell("entered", { agent: this.agent, hook });
  }

  /** Tells what the engine tells of a run. */
  tell(event: Params): void {
    this.#peer.tell("event", { agent: this.agent, ...event });
  }

  /** Asks the model for a whole answer. */
  async answer(messages: MessageTold[], tools: InfoTold[], settings: Settings = {}): Promise<MessageTold> {
    return (await this.#ask("model", { mode: "invoke", messages, tools, ...asOptions(settings) })) as MessageTold;
  }

  /** Asks the model for an answer in chunks. */
  async answering(messages: MessageTold[], tools: InfoTold[], settings: Settings = {}): Promise<AsyncGenerator<Piece>> {
    const { stream } = await this.#ask("model", { mode: "stream", messages, tools, ...asOptions(settings) });
    return this.chunks(stream);
  }

  /** Yields what a stream of the harness brings. */
  chunks(stream: number): AsyncGenerator<Piece> {
    return pulled(this.#peer, { agent: this.agent, stream }) as AsyncGenerator<Piece>;
  }

  /** Calls a tool. */
  async tool(tool: number, callId: string, args: string): Promise<string> {
    const asked = { tool, mode: "invoke", arguments: args, call_id: callId };
    return (await this.#ask("tool", asked))["result"];
  }

  /** Enters a hook that wraps nothing. */
  hook(handler: number, hook: string, given: Params): Promise<Params> {
    return this.#ask("hook", { handler, hook, ...given });
  }

  /** Enters a hook that wraps a call, which goes on by `inner`. */
  async around(handler: number, hook: string, given: Params, inner: Inner): Promise<Params> {
    const token = this.#inner.add(inner);
    try {
      return await this.hook(handler, hook, { token, ...given });
    } finally {
      this.#inner.drop(token);
    }
  }

  /** Goes on into what a wrapper stands around. */
  next(params: Params): Promise<Params> {
    const inner = this.#inner.get(params["token"]);
    return this.within(params["ctx"], () => inner(params));
  }
}

/** Returns those settings that are set, if any is, as they stand in a frame. */
function asOptions(settings: Settings): { options?: Settings } {
  const set = Object.entries(settings).filter(([, value]) => value !== undefined);
  return set.length ? { options: Object.fromEntries(set) } : {};
}
