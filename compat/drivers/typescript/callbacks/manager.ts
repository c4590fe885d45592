/**
 * The session manager: keeps sessions, and brings each callback to its owners once.
 *
 *     const manager = new SessionManager(agent);
 *     const client = new SimpleClient();
 *     client.setSessionManager(manager);
 */
import { AsyncLocalStorage } from "node:async_hooks";

import type { CallbackAgent } from "./agent.ts";
import type { IClient } from "./client.ts";
import { MemoryStore, type SessionStore } from "./stores.ts";
import { CALLBACK_TYPES, type Callback, type CallbackSet, type CallbackType } from "./table.ts";
import type { AgentCallbacks, Owner, SessionState } from "./table.ts";

/** A fact on its way to one receiver; `number` counts those of one owner from 0. */
export interface Delivery {
  readonly owner: Owner;
  readonly number: number;
  readonly name: string;
  readonly data: readonly unknown[];
}

/** Stands around each delivery; the first in the list is outermost. */
export type CallbackMiddleware = (
  delivery: Delivery,
  deliver: () => Promise<unknown>,
) => Promise<unknown>;

export interface ManagerOptions {
  store?: SessionStore;
  table?: readonly CallbackType[];
  middleware?: readonly CallbackMiddleware[];
  warn?: (text: string) => void;
}

interface Receiver {
  readonly owner: Owner;
  readonly number: number;
  readonly callback: Callback;
}

export class SessionManager {
  readonly #agent: CallbackAgent;
  readonly #store: SessionStore;
  readonly #table: readonly CallbackType[];
  readonly #middleware: readonly CallbackMiddleware[];
  readonly #warn: (text: string) => void;
  readonly #turns = new Turns();
  #clients: readonly IClient[] = [];
  #listener: CallbackSet = {};

  constructor(agent: CallbackAgent, options: ManagerOptions = {}) {
    this.#agent = agent;
    this.#store = options.store ?? new MemoryStore();
    this.#table = options.table ?? CALLBACK_TYPES;
    this.#middleware = options.middleware ?? [];
    this.#warn = options.warn ?? ((text) => process.emitWarning(text));
    agent.claim(this);
    this.#setupAgentCallbacks();
  }

  /** Connects a client; one that is connected already stays where it is. */
  setClient(client: IClient): void {
    if (!this.#clients.includes(client)) this.#clients = [...this.#clients, client];
  }

  removeClient(client: IClient): void {
    if (!this.#clients.includes(client)) {
      throw new Error("the client is not connected: call setClient first");
    }
    this.#clients = this.#clients.filter((each) => each !== client);
  }

  /** Sets the external listener, who hears what it shares with the clients. */
  setCallbacks(callbacks: AgentCallbacks): void {
    const shared = this.#table.filter(({ owners }) => owners.includes("listener"));
    const names = shared.map(({ name }) => name);
    const others = Object.keys(callbacks).filter((each) => !names.includes(each));
    if (others.length > 0) {
      const heard = names.join(", ");
      throw new Error(`${others.join(", ")}: an external listener hears ${heard}: use a client`);
    }
    this.#listener = callbacks as CallbackSet;
  }

  async loadSession(sessionId: string): Promise<SessionState | null> {
    return this.#store.load(sessionId);
  }

  async saveSession(state: SessionState): Promise<void> {
    await this.#store.save(state);
  }

  #setupAgentCallbacks(): void {
    const deliver = (row: CallbackType): [string, Callback] => [
      row.name,
      (...data) => this.#turns.taken(() => this.#deliver(row, data)),
    ];
    this.#agent.setCallBacks(Object.fromEntries(this.#table.map(deliver)));
  }

  async #deliver(row: CallbackType, data: readonly unknown[]): Promise<unknown> {
    if (row.name === "loadAgentStorage") return this.#load(row, data as [string]);
    if (row.name === "onStateStorage") await this.saveSession(data[0] as SessionState);
    for (const receiver of this.#receivers(row)) await this.#call(receiver, row.name, data);
    return undefined;
  }

  /** Returns the first state that a client has, also an empty one, else the local one. */
  async #load(row: CallbackType, data: readonly [string]): Promise<unknown> {
    for (const receiver of this.#receivers(row)) {
      const found = await this.#call(receiver, row.name, data);
      if (found !== null && found !== undefined) return found;
    }
    return this.loadSession(...data);
  }

  /** Returns who hears a fact, as they are when it is told: each owner once, in order. */
  #receivers({ name, owners }: CallbackType): Receiver[] {
    const sets: Record<Owner, readonly (CallbackSet | undefined)[]> = {
      manager: [],
      client: this.#clients.map((each) => each.agentCallbacks as CallbackSet | undefined),
      listener: [this.#listener],
    };
    return owners.flatMap((owner) =>
      sets[owner].flatMap((set, number) => {
        const callback = set?.[name];
        return callback === undefined ? [] : [{ owner, number, callback }];
      }),
    );
  }

  /** Calls a callback; one that throws is told to onError, and the others are called. */
  async #call(receiver: Receiver, name: string, data: readonly unknown[]): Promise<unknown> {
    const { owner, number, callback } = receiver;
    const called = async (): Promise<unknown> => callback(...data);
    const delivery = { owner, number, name, data };
    const around = this.#middleware.reduceRight<() => Promise<unknown>>(
      (inner, each) => () => each(delivery, inner),
      called,
    );
    try {
      return await around();
    } catch (error) {
      await this.#failed(error, name, `${owner}.${name}`, data);
      return undefined;
    }
  }

  async #failed(
    error: unknown,
    name: string,
    where: string,
    data: readonly unknown[],
  ): Promise<void> {
    if (name === "onError") {
      this.#warn(`${where} threw ${error} when told of ${data[0]}`);
      return;
    }
    const row = this.#table.find((each) => each.name === "onError") as CallbackType;
    await this.#agent.notify({ name: row.name, data: [error, where] });
    await this.#deliver(row, [error, where]);
  }
}

/** Lets one fact be told to all of its owners before the next, as tools end together. */
class Turns {
  readonly #inside = new AsyncLocalStorage<true>();
  #last: Promise<unknown> = Promise.resolve();

  async taken<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside.getStore()) return work(); // a callback that tells a fact itself
    const turn = this.#last.then(() => this.#inside.run(true, work));
    this.#last = turn.catch(() => {}); // who is next does not fail because of this
    return turn;
  }
}
