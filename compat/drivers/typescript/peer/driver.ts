/** What drivers of engines with handlers have in common: agents, runs, what is called. */
import process from "node:process";

import type { ConfigTold, EventTold, RunAsked } from "./frames.ts";
import { Harness } from "./harness.ts";
import { type FailureData, type Params, PROTOCOL, Peer, failureIn } from "./peer.ts";
import { seen } from "./setup.ts";
import { type Subject, SubjectError, Watch, loadSubject, nameOf, placeOf } from "./subjects.ts";

/** What a driver says of itself. */
export interface About {
  engine: string;
  version: string;
  profile: string;
  capabilities: string[];
}

/** An agent that an engine built. */
export interface Agent {
  /** Plays a run; yields what the engine tells, as soon as it does. */
  run(asked: RunAsked, signal: AbortSignal): AsyncIterable<EventTold>;
}

/** An engine behind a driver. */
export interface Engine {
  about: About;
  /** Names what the engine says by an error of its own; "" if it says nothing. */
  kindOf(error: unknown): string;
  build(harness: Harness, config: ConfigTold, subject?: Returned): Agent;
}

/** What a user's own subject returned for an agent, and what watches it. */
export interface Returned {
  name: string;
  value: unknown;
  watch: Watch;
}

/** Drives an engine for a harness until that asks for the end. */
export async function drive(engine: Engine): Promise<void> {
  console.log = console.info = console.debug = console.error; // the output is for frames
  process.on("unhandledRejection", (reason) => console.error("nobody waits for:", reason));
  await new Driver(engine).peer.serve();
}

interface Built {
  harness: Harness;
  agent: Agent;
  runs: Map<number, AbortController>;
}

class Driver {
  readonly peer: Peer;
  #engine: Engine;
  #built = new Map<number, Built>();
  #subject: Subject | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.peer = new Peer(
      {
        initialize: () => ({ protocol: PROTOCOL, language: "typescript", dialect: "react", ...engine.about, ...(seen && { setup: seen }) }),
        subject: (params) => this.#load(params),
        build: (params) => this.#build(params),
        run: (params) => this.#run(params as RunAsked),
        next: (params) => this.#of(params).harness.next(params),
        pull: (params) => this.#of(params).harness.streams.pull(params["stream"]),
        close: (params) => this.#of(params).harness.streams.close(params["stream"]),
        cancel: (params) => this.#of(params).runs.get(params["run"])?.abort(),
        reset: (params) => void this.#built.delete(params["agent"]),
      },
      { dataOf: (error) => this.#dataOf(error) },
    );
  }

  #dataOf(error: unknown): FailureData {
    if (error instanceof SubjectError) return { kind: error.kind };
    const known = failureIn(error);
    if (known !== undefined) return known.data;
    for (let each = error; each instanceof Error; each = each.cause) {
      const place = placeOf(each);
      if (place !== undefined) return { name: nameOf(each), place };
    }
    const kind = this.#engine.kindOf(error);
    return kind ? { kind } : {};
  }

  #of(params: Params): Built {
    const found = this.#built.get(params["agent"]);
    if (found === undefined) throw new Error(`there is no agent ${params["agent"]}`);
    return found;
  }

  async #load(params: Params): Promise<Params> {
    this.#subject = await loadSubject(params["path"], params["name"]);
    return { name: this.#subject.name };
  }

  async #build(params: Params): Promise<Params> {
    const harness = new Harness(this.peer, params["agent"]);
    const config = params["config"] as ConfigTold;
    const own = config.subject ? await this.#made(harness) : undefined;
    const agent = this.#engine.build(harness, config, own);
    this.#built.set(harness.agent, { harness, agent, runs: new Map() });
    if (own === undefined) return {};
    const { hooks, names, tools } = own.watch;
    if (!hooks.length) throw new SubjectError("wrong-result", `${own.name} returns nothing to look at`);
    return { hooks, names, ...(tools.length ? { tools } : {}) };
  }

  /** Calls what makes a subject. */
  async #made(harness: Harness): Promise<Returned> {
    if (this.#subject === undefined) throw new SubjectError("missing-name", "no subject is loaded");
    const { name, make } = this.#subject;
    return { name, value: await harness.within(undefined, make), watch: new Watch(harness) };
  }

  async #run(asked: RunAsked): Promise<void> {
    const { harness, agent, runs } = this.#of(asked);
    const leaving = new AbortController();
    runs.set(asked.run, leaving);
    try {
      await harness.within(asked.ctx, async () => {
        for await (const each of agent.run(asked, leaving.signal)) {
          await harness.caughtUp();
          harness.tell({ run: asked.run, ...each });
        }
      });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const failure = { code: -32000, message, data: this.#dataOf(error) };
      harness.tell({ run: asked.run, name: "", error: failure });
    } finally {
      runs.delete(asked.run);
      if (seen) this.peer.tell("observed", { agent: asked.agent, changed: seen.changed, spans: seen.spans });
    }
  }
}
