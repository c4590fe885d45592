/** The table of callbacks: a new type is one row, and nothing else knows its name. */
import type { Message, ToolCall } from "./messages.ts";

export type Owner = "manager" | "client" | "listener";
export type Status = "completed" | "error" | "cancelled";

/** All that is kept of a session; `more` is what a client's own storage gave besides. */
export interface SessionState {
  readonly sessionId: string;
  readonly messages: readonly Message[];
  readonly more: Readonly<Record<string, unknown>>;
}

export interface ToolExecution {
  readonly name: string;
  readonly callId: string;
  readonly result: string | null;
  readonly error: Error | null;
}

/** What is told, each with what it is called with. */
export interface AgentCallbacks {
  onSessionStart?(sessionId: string): unknown;
  /** Gives a state, or nothing where the manager's own storage is to be used. */
  loadAgentStorage?(sessionId: string): unknown;
  onAgentStep?(step: { stepIndex: number; messages: readonly Message[] }): unknown;
  onLLMTextDelta?(text: string): unknown;
  onLLMTextDone?(text: string): unknown;
  onToolCallStart?(toolCall: ToolCall): unknown;
  onToolExecutionEnd?(result: ToolExecution): unknown;
  onError?(error: Error, where: string): unknown;
  onStateStorage?(state: SessionState): unknown;
  onSessionEnd?(sessionId: string, status: Status): unknown;
}

/** Callbacks by name, as a slot has them: also those of types that somebody has added. */
export type Callback = (...data: any[]) => unknown;
export type CallbackSet = Readonly<Record<string, Callback | undefined>>;

/** One row: who hears it, in the order in which they are told. */
export interface CallbackType {
  readonly name: string;
  readonly owners: readonly Owner[];
}

export const CALLBACK_TYPES: readonly CallbackType[] = [
  { name: "onSessionStart", owners: ["manager", "client"] },
  { name: "loadAgentStorage", owners: ["client", "manager"] },
  { name: "onAgentStep", owners: ["client", "listener"] },
  { name: "onLLMTextDelta", owners: ["client"] },
  { name: "onLLMTextDone", owners: ["client"] },
  { name: "onToolCallStart", owners: ["client"] },
  { name: "onToolExecutionEnd", owners: ["client", "listener"] },
  { name: "onError", owners: ["client", "listener"] },
  { name: "onStateStorage", owners: ["manager", "client"] },
  { name: "onSessionEnd", owners: ["manager", "client"] },
];

/** Returns what was loaded as a state; an empty object is an empty state. */
export function stateOf(loaded: unknown, sessionId: string): SessionState {
  if (loaded === null || loaded === undefined) return { sessionId, messages: [], more: {} };
  if (typeof loaded !== "object" || Array.isArray(loaded)) {
    throw new TypeError(`session '${sessionId}': loaded ${loaded}: give null or a state`);
  }
  if ("sessionId" in loaded && "more" in loaded) return loaded as SessionState;
  const { messages = [], session_id: _, ...more } = loaded as Record<string, any>;
  return { sessionId, messages, more };
}
