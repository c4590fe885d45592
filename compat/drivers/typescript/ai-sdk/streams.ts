/** Answers that come in chunks: those of the harness, and those of a model of the SDK. */
import type { CallTold, MessageTold, Piece } from "../peer/frames.ts";
import { Pushed } from "../peer/streams.ts";

/** What one more chunk brings: a text, more of a call's arguments, and at last all of it. */
export type Heard = { text: string } | { call: CallTold; more: string } | { whole: MessageTold };

/** Yields what chunks bring; the pieces of one call have one index, or are calls of their own. */
export async function* heard(pieces: AsyncIterable<Piece>): AsyncGenerator<Heard> {
  const whole: MessageTold = { role: "assistant", content: "" };
  const calls = new Map<unknown, CallTold>();
  for await (const { message = {} } of pieces) {
    const { content = "", tool_calls: some = [], id, name, extra } = message;
    if (id !== undefined) whole.id ??= id;
    if (name !== undefined) whole.name ??= name;
    if (extra !== undefined) whole.extra = { ...whole.extra, ...extra };
    whole.content += content;
    if (content) yield { text: content };
    for (const each of some) {
      const call = calls.get(each.index) ?? { id: "", name: "", arguments: "" };
      calls.set(each.index ?? Symbol(), call);
      call.id ||= each.id;
      call.name ||= each.name;
      call.arguments += each.arguments;
      if (call.name) yield { call, more: each.arguments };
    }
  }
  if (calls.size) whole.tool_calls = [...calls.values()];
  yield { whole };
}

/** Returns a stream as models give one: nothing is asked for before it is read. */
export function readable<T>(source: AsyncGenerator<T>): ReadableStream<T> {
  const reading = {
    async pull(controller: ReadableStreamDefaultController<T>) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await source.return(undefined)),
  };
  return new ReadableStream<T>(reading, { highWaterMark: 0 });
}

/** Reads a stream to its end; raises the first error in it. `own` is what a subject gave to hear of it. */
export async function readWhole<Chunk>(
  own: Hears<Chunk>,
  said: (chunk: Chunk) => void,
  begin: (hears: Heeds<Chunk>) => { fullStream: AsyncIterable<unknown> },
): Promise<void> {
  const errors: unknown[] = [];
  const { fullStream } = begin({
    onChunk: async (event) => {
      said(event.chunk);
      await own.onChunk?.(event);
    },
    onError: async (event) => {
      errors.push(event.error);
      return (await own.onError?.(event)) as void; // 7 is told by it to ask again
    },
  });
  for await (const _ of fullStream);
  if (errors.length) throw errors[0];
}

interface Heeds<Chunk> {
  onChunk: (event: { chunk: Chunk }) => Promise<void>;
  onError: (event: { error: unknown }) => Promise<void>;
}
interface Hears<Chunk> {
  onChunk?: ((event: { chunk: Chunk }) => unknown) | undefined;
  onError?: ((event: { error: unknown }) => unknown) | undefined;
}

/** The answer of a step, while it comes in chunks. */
export class OpenAnswer {
  #chunks: Pushed | undefined;
  #over = false;
  readonly #tell: (chunks: Pushed) => void;

  /** `tell` is told of each answer when its first chunk comes, or when it ends without one. */
  constructor(tell: (chunks: Pushed) => void) {
    this.#tell = tell;
  }

  put(piece: Piece): void {
    this.#opened().put(piece as object);
  }

  /** Ends it: what the step does now comes after it. */
  end(): void {
    if (!this.#over) this.#opened().end();
    this.#over = true;
  }

  /** Ends it, if it has not ended, and lets the next one begin. */
  next(): void {
    this.end();
    this.#chunks = undefined;
    this.#over = false;
  }

  fail(error: unknown): void {
    if (!this.#over) this.#chunks?.fail(error);
  }

  #opened(): Pushed {
    if (this.#chunks === undefined) this.#tell((this.#chunks = new Pushed()));
    return this.#chunks;
  }
}
