/** Limits of one call. Each is an outcome: a status, or what a call's result says. */
import * as errors from "./errors.ts";
import type { ToolResult } from "./loop.ts";
import type { ToolCall } from "./parts.ts";

const DEFAULT_ROUNDS = 3;

/** What a round may take; what is not there is no limit. */
export interface Limits {
  /** From asking the model until the last result is told, callbacks among it. */
  roundSeconds?: number;
  toolSeconds?: number;
  callsPerRound?: number;
  argumentChars?: number;
  resultChars?: number;
}

/** Throws what keeps a call from being executed, the at-th of its round from 0. */
export function checkCall(limits: Limits, call: ToolCall, at: number): void {
  const { callsPerRound = Infinity, argumentChars = Infinity } = limits;
  if (at >= callsPerRound) throw new errors.TooManyCalls(call.name, callsPerRound);
  const length = characters(call.arguments);
  if (length > argumentChars) {
    throw new errors.ArgumentsTooLong(call.name, length, argumentChars);
  }
}

/** Throws for a result that is not fed back. */
export function checkResult({ resultChars = Infinity }: Limits, result: ToolResult): void {
  const length = characters(result.text);
  if (length > resultChars) throw new errors.ResultTooLong(result.name, length, resultChars);
}

/** Returns how many rounds there may be: a whole number from 1 on, or 3 by default. */
export function roundsOf(given: unknown): number {
  if (given === undefined) return DEFAULT_ROUNDS;
  if (!Number.isInteger(given) || (given as number) < 1) throw new errors.IterationLimit(given);
  return given as number;
}

/** Characters, not the halves that a character beyond 16 bits has in a string. */
function characters(text: string): number {
  return [...text].length;
}
