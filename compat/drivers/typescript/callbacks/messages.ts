/** What an agent is made of: messages, a model that streams, tools. */

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly name?: string;
}

export interface Chunk {
  readonly content: string;
  readonly calls: readonly ToolCall[];
}

export interface Model {
  stream(messages: readonly Message[], signal: AbortSignal): AsyncIterable<Chunk>;
}

export interface Tool {
  readonly name: string;
  invoke(call: ToolCall, signal: AbortSignal): Promise<string>;
}
