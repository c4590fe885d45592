/** What a version of the AI SDK is asked to play, and what it tells. */
import type { MessageTold } from "../peer/frames.ts";
import type { Own } from "./subject.ts";
import type { Message, Middleware, Model } from "./version.ts";

/** What the SDK has no place for in a message. */
export interface Kept {
  id?: string;
  name?: string;
  extra?: Record<string, unknown>;
}

/** Calls a tool of the harness. */
export type Execute = (input: unknown, callId: string) => Promise<unknown>;

/** A step that is over: what the model said, and the messages with results so far. */
export interface Step {
  said: Message;
  results: Message[];
}

/** What a reader of a stream has at once: some text, or a call of a tool. */
export type Chunk = string | { id: string; name: string; input: unknown };

/** A run as each version plays it. */
export interface Played {
  instruction: string;
  messages: Message[];
  model: Model;
  middleware: Middleware[];
  tools: Record<string, unknown>;
  /** Names of tools whose calls end the run, where a version can be told. */
  direct: string[];
  /** Whether calls of a message run one after the other, where a version can be told. */
  sequential: boolean;
  /** How many steps there may be. */
  steps: number;
  /** What a user's own subject brings. */
  own: Own;
  signal: AbortSignal;
  /** Takes what a step is to be sent; returns what is sent instead, if it is not that. */
  prepare: (messages: Message[]) => Promise<Message[] | undefined>;
  finished: (step: Step) => void;
  /** Takes the chunks of an answer as its reader has them; there is none in one piece. */
  said?: ((chunk: Chunk) => void) | undefined;
}

/** Why a model ended, in the words of every version. */
type Why = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other";

/** Returns what an answer says of why its model ended, else what there is in it. */
export function whyEnded({ tool_calls: calls = [], extra }: MessageTold): Why {
  return (extra?.["finish_reason"] ?? (calls.length ? "tool-calls" : "stop")) as Why;
}

/** Returns the headers of a request but for the one by which the SDK tells its version, if there are any. */
export function sent(headers: Record<string, string | undefined>): Record<string, string> | undefined {
  const own = Object.entries(headers).filter(([name, value]) => value !== undefined && name.toLowerCase() !== "user-agent");
  return own.length ? (Object.fromEntries(own) as Record<string, string>) : undefined;
}
