/** What stands in frames, as docs/protocol.md has it. */

/** A call of a tool that the model asks for; of a chunk, a piece of one. */
export interface CallTold {
  index?: number;
  id: string;
  name: string;
  arguments: string;
}

/** A message, or a chunk of an answer. A reference alone is a message told before. */
export interface MessageTold {
  ref?: number;
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  tool_calls?: CallTold[];
  tool_call_id?: string | undefined;
  name?: string | undefined;
  id?: string | undefined;
  extra?: Record<string, unknown> | undefined;
}

/** What one pull of a stream brings. */
export interface Piece {
  end?: boolean;
  text?: string;
  message?: Partial<MessageTold>;
}

/** A tool of the harness: a number, and what the model is told of it. */
export interface ToolTold {
  tool: number;
  name: string;
  description: string;
  kind: "invokable" | "streamable" | "both";
}

/** The factories of wrappers that a struct middleware, or the tools, bring. */
export interface WrapsTold {
  invokable?: number;
  streamable?: number;
}

/** A struct middleware. */
export interface StructTold {
  instruction: string;
  tools: ToolTold[];
  fields: string[];
  wrap_tool_call: WrapsTold;
}

/** An agent as the harness describes it: which parts there are, and no more. */
export interface ConfigTold {
  name: string;
  description: string;
  instruction: string;
  tools: ToolTold[];
  return_directly: Record<string, boolean>;
  tool_call_middlewares: WrapsTold[];
  structs: StructTold[];
  handlers: string[][];
  handler_names: string[];
  unknown_tools_handler: boolean;
  sequential: boolean;
  max_iterations: number;
  /** Whether the subject that was loaded is in it. */
  subject?: boolean;
}

/** A call of `run`. */
export interface RunAsked {
  agent: number;
  run: number;
  messages: MessageTold[];
  stream: boolean;
  ctx: number;
}

/** What an engine tells of a run. */
export interface EventTold {
  name: string;
  role?: string;
  call_id?: string;
  message?: MessageTold;
  stream?: number;
}
