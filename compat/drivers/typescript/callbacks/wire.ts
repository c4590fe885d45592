/** What sessions tell, as it stands in frames, and back. */
import { dataOf, messageRead, messageTold, type WireMessage } from "../peer/world.ts";
import type { SessionResult } from "./agent.ts";
import { CALLBACK_TYPES, stateOf, type SessionState } from "./table.ts";

/** Returns onLLMTextDelta as on_llm_text_delta. */
export function snake(name: string): string {
  return name.replace(/(LLM|[A-Z])/g, (letters) => `_${letters.toLowerCase()}`);
}

const CAMEL = new Map(CALLBACK_TYPES.map(({ name }) => [snake(name), name]));

/** Returns on_llm_text_delta as onLLMTextDelta; a type of one's own is called as it is. */
export function camel(name: string): string {
  return CAMEL.get(name) ?? name;
}

/** The same the other way round. */
export function wireName(name: string): string {
  return [...CAMEL.values()].includes(name) ? snake(name) : name;
}

/** Returns a text in which types of callbacks are called as they are in frames. */
export function namesTold(text: string): string {
  return text.replace(/\bon[A-Z]\w*|\bloadAgentStorage\b/g, wireName);
}

export function stateTold({ sessionId, messages, more }: SessionState): object {
  return { session_id: sessionId, messages: messages.map(messageTold), more };
}

/** Returns what a client's own storage gave, with messages as they are here. */
export function loadedRead(given: any, sessionId: string): unknown {
  if (given === null || typeof given !== "object") return given;
  if (Object.keys(given).length === 0) return given;
  const { messages, ...state } = stateOf(given, sessionId);
  return { ...state, messages: (messages as readonly WireMessage[]).map(messageRead) };
}

export function resultTold({ answer, status, state }: SessionResult): object {
  return { answer: answer && messageTold(answer), status, state: stateTold(state) };
}

export function errorTold(error: Error): object {
  return { message: error.message, data: dataOf(error) };
}

/** Returns what a callback is told, in the order of its row. */
export function dataTold(name: string, data: readonly any[]): unknown[] {
  const [first, second] = data;
  switch (name) {
    case "onAgentStep":
      return [first.stepIndex, first.messages.map(messageTold)];
    case "onToolExecutionEnd":
      return [first.name, first.callId, first.result, first.error && errorTold(first.error)];
    case "onError":
      return [errorTold(first), whereTold(second)];
    case "onStateStorage":
      return [stateTold(first)];
    default:
      return [...data];
  }
}

/** Returns client.onAgentStep as client.on_agent_step. */
function whereTold(where: string): string {
  const [owner, name] = where.split(".");
  return name === undefined ? where : `${owner}.${wireName(name)}`;
}
