/** How the loop waits: for how long, and when to stop. */
import type { Clock } from "./loop.ts";

/** Returns what a promise gives, unless the signal aborts first: then its reason is thrown. */
export async function abortable<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const settled = new AbortController(); // takes the listener away again
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { signal: settled.signal });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    settled.abort();
  }
}

/**
 * Returns what work gives in so many seconds; without a number it has all the time.
 *
 * Work is given a signal that aborts when its time is up, or the outer one does. What it
 * fails with comes out then is the signal's reason, also if it took no notice.
 */
export async function inTime<T>(
  clock: Clock,
  seconds: number | undefined,
  outer: AbortSignal,
  late: (seconds: number) => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  if (seconds === undefined) return work(outer);
  const timer = new AbortController();
  const window = new AbortController();
  const ring = () => window.abort(late(seconds));
  void clock.sleep(seconds, timer.signal).then(ring, () => {});
  try {
    return await work(AbortSignal.any([outer, window.signal]));
  } finally {
    timer.abort();
    window.signal.throwIfAborted();
  }
}
