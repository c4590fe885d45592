/**
 * What both sides hold for each other by number: values whose identity matters, and
 * streams, of which one pull brings one chunk.
 */
import type { Params, Peer } from "./peer.ts";

/** Numbers for values, so that the very value comes back. */
export class Refs<T> {
  #values = new Map<number, T>();
  #numbers = new WeakMap<object, number>();
  #last = 0;

  /** Returns a new number for a value. */
  add(value: T): number {
    this.#values.set(++this.#last, value);
    return this.#last;
  }

  /** Returns the number of an object: the same one each time. */
  of(value: T & object): number {
    const known = this.#numbers.get(value) ?? this.add(value);
    this.#numbers.set(value, known);
    return known;
  }

  /** Returns the value of a number. */
  get(number: number): T {
    const value = this.#values.get(number);
    if (value === undefined) throw new Error(`nothing has the number ${number}`);
    return value;
  }

  /** Forgets a number. */
  drop(number: number): void {
    this.#values.delete(number);
  }
}

/** Streams of this side, which the harness pulls. */
export class Streams {
  #open = new Refs<AsyncIterator<Params>>();

  /** Returns the number of a stream that yields what a pull answers. */
  offer(source: AsyncIterable<Params>): number {
    return this.#open.add(source[Symbol.asyncIterator]());
  }

  /** Answers a pull; at its end a stream is forgotten. */
  async pull(number: number): Promise<Params> {
    const { done, value } = await this.#open.get(number).next();
    if (!done) return value;
    this.#open.drop(number);
    return { end: true };
  }

  /** Ends a stream that nobody reads any more. */
  async close(number: number): Promise<void> {
    const source = this.#open.get(number);
    this.#open.drop(number);
    await source.return?.();
  }
}

/** A stream that an engine pushes, until the harness pulls it. */
export class Pushed implements AsyncIterable<Params> {
  #pieces: Params[] = [];
  #over: (() => void) | undefined;
  #wake = () => {};

  put(piece: Params): void {
    this.#pieces.push(piece);
    this.#wake();
  }

  end(): void {
    this.#over ??= () => {};
    this.#wake();
  }

  fail(error: unknown): void {
    this.#over ??= () => {
      throw error;
    };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Params, void, void> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) yield piece;
      else if (this.#over !== undefined) return this.#over();
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Yields a stream of the harness; who leaves early closes it. */
export async function* pulled(
  peer: Peer,
  asked: { agent: number; stream: number },
  signal?: AbortSignal,
): AsyncGenerator<Params, void, void> {
  let ended = false;
  try {
    for (;;) {
      const piece = await peer.call("pull", asked, signal);
      ended = piece.end === true;
      if (ended) return;
      yield piece;
    }
  } finally {
    if (!ended) await peer.call("close", asked);
  }
}
