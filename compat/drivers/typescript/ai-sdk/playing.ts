/** What a version of the AI SDK is asked to play, and what it tells. */
import type { Own } from "./subject.ts";
import type { Message, Middleware, Model } from "./version.ts";

/** What the SDK has no place for in a message. */
export interface Kept {
  id?: string;
  name?: string;
  extra?: Record<string, unknown>;
}

/** Calls a tool of the harness. */
export type Execute = (input: unknown, callId: string) => Promise<string>;

/** A step that is over: what the model said, and the messages with results so far. */
export interface Step {
  said: Message;
  results: Message[];
}

/** A run as both versions play it. */
export interface Played {
  instruction: string;
  messages: Message[];
  model: Model;
  middleware: Middleware[];
  tools: Record<string, unknown>;
  /** Names of tools whose calls end the run, where a version can be told. */
  direct: string[];
  /** How many steps there may be. */
  steps: number;
  /** What a user's own subject brings. */
  own: Own;
  signal: AbortSignal;
  /** Takes what a step is to be sent; returns what is sent instead, if it is not that. */
  prepare: (messages: Message[]) => Promise<Message[] | undefined>;
  finished: (step: Step) => void;
}
