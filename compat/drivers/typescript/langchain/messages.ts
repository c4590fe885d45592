import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";

import type { CallTold, MessageTold, Piece } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";

/**
 * Under which key of `additional_kwargs` what LangChain's messages have no place for
 * travels: the harness's ids and extras, and the name of an answer, since `createAgent`
 * writes the agent's own name there.
 */
const OURS = "refengine";

interface Kept {
  id?: string;
  name?: string;
  extra?: Record<string, unknown>;
}

/** The messages of one agent as both sides have them. */
export class Messages {
  /** Arguments of calls as the model wrote them: the framework keeps what they mean. */
  private readonly texts = new Map<string, string>();

  /**
   * Arguments that a wrapper passed inwards, and how it wrote them: kept with the texts
   * above, they would be taken for what the model wrote, which may mean the same.
   */
  private readonly passed = new WeakMap<object, string>();

  private readonly harness: Harness;
  /** Whether the harness hears which results are marked as errors: an engine by itself is asked for their text alone. */
  private readonly marks: boolean;

  constructor(harness: Harness, marks = false) {
    this.harness = harness;
    this.marks = marks;
  }

  /** Return a message of the harness as the framework's; a known one as it is. */
  read(told: MessageTold): BaseMessage {
    if (told.ref) return this.harness.refs.get(told.ref) as BaseMessage;
    const common = { content: told.content, ...keptOf(told) };
    switch (told.role) {
      case "system":
        return new SystemMessage({ ...common, ...nameOf(told) });
      case "user":
        return new HumanMessage({ ...common, ...nameOf(told) });
      case "tool":
        return new ToolMessage({ ...common, ...nameOf(told), ...statusOf(told), tool_call_id: told.tool_call_id ?? "" });
      case "assistant":
        return new AIMessage({ ...common, tool_calls: this.readCalls(told) });
    }
  }

  readAll(told: MessageTold[]): BaseMessage[] {
    return told.map((each) => this.read(each));
  }

  private readCalls(told: MessageTold) {
    return (told.tool_calls ?? []).map((each) => ({
      type: "tool_call" as const,
      id: each.id,
      name: each.name,
      args: this.readArguments(each),
    }));
  }

  /** Return what a wrapper passed inwards, for those inside it and the tool alone. */
  passArguments(text: string): Record<string, unknown> {
    const args = parsed(text);
    this.passed.set(args, text);
    return args;
  }

  /** Return arguments parsed; their text is found again by `tellCall`. */
  readArguments(call: CallTold): Record<string, unknown> {
    const args = parsed(call.arguments);
    this.texts.set(keyOf(call.id, call.name, args), call.arguments);
    return args;
  }

  /** Return a message of the framework as it stands in a frame. */
  tell(message: BaseMessage): MessageTold {
    return { ref: this.harness.refs.of(message), ...this.content(message) };
  }

  tellAll(messages: BaseMessage[]): MessageTold[] {
    return messages.map((each) => this.tell(each));
  }

  /** Return the same without a reference, for whoever hands nothing back. */
  content(message: BaseMessage): MessageTold {
    const kept = (message.additional_kwargs[OURS] ?? {}) as Kept;
    const told: MessageTold = { role: roleOf(message), content: message.text, ...kept };
    if (AIMessage.isInstance(message)) {
      if (message.tool_calls?.length) told.tool_calls = message.tool_calls.map((each) => this.tellCall(each));
    } else if (message.name !== undefined) {
      told.name = message.name;
    }
    if (ToolMessage.isInstance(message)) {
      told.tool_call_id = message.tool_call_id;
      if (this.marks && message.status === "error") told.extra = { ...told.extra, ...FAILED };
    }
    return told;
  }

  /** Return a call with its arguments as they were written, if that is known. */
  tellCall({ id = "", name, args }: { id?: string; name: string; args: object }): CallTold {
    const text = this.passed.get(args) ?? this.texts.get(keyOf(id, name, args)) ?? JSON.stringify(args);
    return { id, name, arguments: text };
  }

  /** Return the pieces of one answer as the framework's. */
  pieces(): Pieces {
    return new Pieces((call) => this.readArguments(call));
  }
}

/** The pieces of one answer, which the framework joins by itself. */
export class Pieces {
  private readonly calls = new Map<number, CallTold>();
  private readonly whole: (call: CallTold) => void;

  constructor(whole: (call: CallTold) => void) {
    this.whole = whole;
  }

  /** Return a piece; pieces of calls without an index get one behind those before. */
  read({ message = {} }: Piece): AIMessageChunk {
    const calls = (message.tool_calls ?? []).map((each) => {
      const index = each.index ?? this.calls.size;
      this.join(index, each);
      const named = { ...(each.id ? { id: each.id } : {}), ...(each.name ? { name: each.name } : {}) };
      return { type: "tool_call_chunk" as const, index, ...named, args: each.arguments };
    });
    return new AIMessageChunk({
      content: message.content ?? "",
      ...keptOf(message),
      tool_call_chunks: calls,
    });
  }

  private join(index: number, piece: CallTold): void {
    const known = this.calls.get(index) ?? { id: "", name: "", arguments: "" };
    this.calls.set(index, {
      id: known.id || piece.id,
      name: known.name + piece.name,
      arguments: known.arguments + piece.arguments,
    });
  }

  /** Note how the arguments were written, now that all of them are there. */
  end(): void {
    this.calls.forEach(this.whole);
  }
}

/** Return a piece of an answer as it stands in a frame. */
export function tellChunk(chunk: AIMessageChunk): Piece {
  const calls = (chunk.tool_call_chunks ?? []).map((each) => ({
    ...(each.index === undefined ? {} : { index: each.index }),
    id: each.id ?? "",
    name: each.name ?? "",
    arguments: each.args ?? "",
  }));
  const kept = (chunk.additional_kwargs[OURS] ?? {}) as Kept;
  return { message: { content: chunk.text, ...kept, ...(calls.length ? { tool_calls: calls } : {}) } };
}

/** How a result is marked that tells of an error. */
const FAILED = { status: "error" } as const;

function statusOf(told: MessageTold): { status?: "error" } {
  return told.extra?.["status"] === FAILED.status ? FAILED : {};
}

function nameOf(told: MessageTold): { name?: string } {
  return told.name === undefined ? {} : { name: told.name };
}

function keptOf(told: Partial<MessageTold>): { additional_kwargs?: Record<string, unknown> } {
  const kept: Kept = {};
  if (told.id !== undefined) kept.id = told.id;
  if (told.extra !== undefined) kept.extra = told.extra;
  if (told.name !== undefined && (told.role ?? "assistant") === "assistant") kept.name = told.name;
  return Object.keys(kept).length ? { additional_kwargs: { [OURS]: kept } } : {};
}

const ROLES = { system: "system", human: "user", ai: "assistant", tool: "tool" } as const;

function roleOf(message: BaseMessage): MessageTold["role"] {
  return ROLES[message.getType() as keyof typeof ROLES];
}

function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text || "{}") as Record<string, unknown>;
}

function keyOf(id: string, name: string, args: unknown): string {
  return JSON.stringify([id, name, args]);
}
