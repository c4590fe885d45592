/**
 * A driver's end of the protocol: JSON-RPC 2.0, one object a line, UTF-8, over standard
 * input and output. Both sides call, and a side is called while it waits for its own call,
 * so calls nest as hooks do. docs/protocol.md has every frame.
 *
 *     const peer = new Peer({ initialize, build, run });
 *     await peer.serve();
 *
 * Only syntax that can be erased is used, so that a Node that strips types runs it as is.
 */
import process from "node:process";
import { setImmediate as afterTurn } from "node:timers";
import { setImmediate, setTimeout } from "node:timers/promises";

/** The version of the protocol that this package speaks. */
export const PROTOCOL = 2;

/** Codes of JSON-RPC: what failed while it ran, and a method that does not exist. */
const FAILED = -32000;
const NO_METHOD = -32601;

/** The kind of the error that stands for a cancellation. */
const CANCELLED = "cancelled";

export type Params = Record<string, any>;
/** Answers a call of the harness; what it throws is the error of the reply. */
export type PeerFunction = (params: Params) => unknown;

interface Frame {
  id?: number;
  method?: string;
  params?: Params;
  result?: any;
  error?: { code: number; message: string; data?: FailureData };
}

/** Whose an error is: the harness's own by its number, an engine's by a stable kind. */
export interface FailureData {
  number?: number;
  kind?: string;
  /** What the harness calls its exception. */
  name?: string;
  [more: string]: unknown;
}

/** An error that the other side is told with data: of the harness, or of the engine. */
export class Failure extends Error {
  readonly data: FailureData;

  constructor(message: string, data: FailureData = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = data.name ?? "Failure";
    this.data = data;
  }

  /** The number of the exception of the harness that it stands for, if it is one. */
  get number(): number | undefined {
    return this.data.number;
  }
}

/** Returns what the other side is told of an error; one of the harness keeps its number. */
export type DataOf = (error: unknown) => FailureData;

/** Finds the failure of the harness that an error is, or that is behind it as its cause. */
export function failureIn(error: unknown): Failure | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof Failure) return each;
  }
  return undefined;
}

interface Waiter {
  resolve: (result: any) => void;
  reject: (error: unknown) => void;
}

export interface PeerOptions {
  /** What the other side is told of an error; by default what is in its Failure. */
  dataOf?: DataOf;
  /** Milliseconds without a frame before all is quiet; 0 without timers of one's own. */
  quiet?: number;
}

/**
 * One end of a connection. It works in turns: what is said in one goes out in this order:
 * first what the engine told, then replies, then own calls.
 */
export class Peer {
  #functions: Record<string, PeerFunction>;
  #waiting = new Map<number, Waiter>();
  #working = new Set<Promise<unknown>>();
  #last = 0;
  #frames = 0;
  #unsent: Frame[] = [];
  #hearing = false;
  #said = "";
  #dataOf: DataOf;
  #quiet: number;

  constructor(functions: Record<string, PeerFunction>, options: PeerOptions = {}) {
    this.#functions = functions;
    this.#dataOf = options.dataOf ?? ((error) => failureIn(error)?.data ?? {});
    this.#quiet = options.quiet ?? 2;
  }

  /**
   * Asks the harness and waits for its answer. A signal that aborts gives the call up: the
   * harness ends what it does for it, and the promise fails with the signal's reason then.
   * What had its answer before that is answered.
   */
  async call(method: string, params: Params, signal?: AbortSignal): Promise<any> {
    signal?.throwIfAborted();
    const id = ++this.#last;
    const reply = new Promise<any>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#send({ id, method, params });
    if (signal === undefined) return reply;
    const abandon = () => this.tell("abandon", { agent: params.agent, call: id });
    signal.addEventListener("abort", abandon, { once: true });
    try {
      return await reply;
    } catch (error) {
      const given = error instanceof Failure && error.data.kind === CANCELLED;
      throw given && signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener("abort", abandon);
    }
  }

  /** Says that it is not settled before that promise is: it waits for no frame or timer. */
  async working<T>(promise: Promise<T>): Promise<T> {
    this.#working.add(promise);
    try {
      return await promise;
    } finally {
      this.#working.delete(promise);
    }
  }

  /** Sends a notification. */
  tell(method: string, params: Params): void {
    this.#send({ method, params });
  }

  /** Answers calls until the harness closes its end or asks for the end. */
  async serve(): Promise<void> {
    let rest = "";
    process.stdin.setEncoding("utf8");
    for await (const data of process.stdin) {
      const lines = (rest + data).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) {
        const frame: Frame = JSON.parse(line);
        if (frame.method === "shutdown") return this.#end(frame);
        this.#hearing = true;
        this.#take(frame);
        await setImmediate(); // what came first goes first as far as it can
      }
      while (this.#unsent.length) await setImmediate();
      this.#hearing = false;
      this.#write();
    }
  }

  #end(frame: Frame): void {
    if (frame.id !== undefined) this.#send({ id: frame.id, result: {} });
    this.#hearing = false;
    process.stdin.destroy();
  }

  #take(frame: Frame): void {
    if (frame.method !== undefined) void this.#answer(frame);
    else if (frame.id !== undefined) this.#resolve(frame, frame.id);
    else throw new Error(`neither call nor reply: ${JSON.stringify(frame).slice(0, 80)}`);
  }

  #resolve(frame: Frame, id: number): void {
    const waiter = this.#waiting.get(id);
    this.#waiting.delete(id);
    const error = frame.error;
    if (error === undefined) waiter?.resolve(frame.result);
    else waiter?.reject(new Failure(error.message, error.data));
  }

  async #answer({ id, method = "", params = {} }: Frame): Promise<void> {
    let reply: Frame;
    try {
      reply = { result: (await this.#called(method, params)) ?? {} };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof NoMethod ? NO_METHOD : FAILED;
      reply = { error: { code, message, data: this.#dataOf(error) } };
    }
    if (id !== undefined) this.#send({ id, ...reply });
  }

  #called(method: string, params: Params): unknown {
    if (method === "settle") return this.#settled();
    if (!Object.hasOwn(this.#functions, method)) throw new NoMethod(method);
    return this.#functions[method](params);
  }

  /** Returns when nothing more goes out: all that can run has run, timers among it. */
  async #settled(): Promise<void> {
    for (let before = -1; before !== this.#frames; ) {
      before = this.#frames;
      await Promise.allSettled(this.#working);
      if (this.#quiet) await setTimeout(this.#quiet);
      await setImmediate();
    }
  }

  #send(frame: Frame): void {
    this.#frames += 1;
    this.#unsent.push(frame);
    if (this.#unsent.length === 1) afterTurn(() => this.#speak());
  }

  #speak(): void {
    const frames = this.#unsent.sort((left, right) => rankOf(left) - rankOf(right));
    this.#unsent = [];
    const lines = frames.map((frame) => JSON.stringify({ jsonrpc: "2.0", ...frame }) + "\n");
    this.#said += lines.join("");
    if (!this.#hearing) this.#write();
  }

  /**
   * Writes what was said. What answers frames that came together goes out together: in two
   * parts, the machine's luck would say whether the harness answers the first one before it
   * has heard the second.
   */
  #write(): void {
    if (this.#said) process.stdout.write(this.#said);
    this.#said = "";
  }
}

/** Returns what goes first of what is said in one turn; an `abandon` follows its call. */
function rankOf({ method }: Frame): number {
  if (method === undefined) return 1;
  return method === "event" ? 0 : 2;
}

class NoMethod extends Error {
  constructor(method: string) {
    super(`there is no method '${method}'`);
  }
}
