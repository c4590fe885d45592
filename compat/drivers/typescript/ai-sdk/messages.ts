/** Messages as the AI SDK has them, which are those of its models too, and back. */
import type { CallTold, MessageTold } from "../peer/frames.ts";
import type { Kept } from "./playing.ts";
import { type Message, type Prompt, callPart, inputOf, keeping, keptIn, resultOf, resultPart } from "./version.ts";

type Part = Exclude<Prompt[number]["content"], string>[number];

/** The messages of one agent as both sides have them. */
export class Messages {
  /** Arguments of calls as the model wrote them: the SDK keeps what they mean. */
  private readonly texts = new Map<string, string>();

  /** Results that are values and no texts, by the call and the text that the harness has of them. */
  private readonly values = new Map<string, unknown>();
  /** Those texts, by the call and the value. */
  private readonly written = new Map<string, string>();

  /**
   * Returns what a tool gives to a subject: of texts that are JSON of an object or a list, every
   * other one is that value. Which one it is, the id of the call says, so that both sides agree.
   */
  given(callId: string, text: string): unknown {
    const value = isOdd(callId) ? valueIn(text) : undefined;
    if (value === undefined) return text;
    this.values.set(keyOf(callId, "", text), value);
    this.written.set(keyOf(callId, "", value), text);
    return value;
  }

  /** Returns messages of the harness as the SDK and its models take them. */
  read(told: MessageTold[]): Message[] {
    const read: Message[] = [];
    for (const each of told) {
      const next = { role: each.role, content: this.readContent(each), ...keeping(keptOf(each)) } as Message;
      const joined = withResults(read.at(-1), next);
      if (joined) read.splice(-1, 1, joined);
      else read.push(next);
    }
    return read;
  }

  private readContent(told: MessageTold): string | object[] {
    switch (told.role) {
      case "system":
        return told.content;
      case "user":
        return [{ type: "text", text: told.content }];
      case "assistant": {
        const calls = (told.tool_calls ?? []).map((each) => callPart(each, this.parsed(each)));
        return [...(told.content ? [{ type: "text", text: told.content }] : []), ...calls];
      }
      case "tool": {
        const value = this.values.get(keyOf(told.tool_call_id ?? "", "", told.content));
        return [resultPart(told, value ?? told.content)];
      }
    }
  }

  /** Returns arguments parsed; their text is found again by `tellCall`. */
  private parsed(call: CallTold): unknown {
    const input: unknown = JSON.parse(call.arguments || "{}");
    this.texts.set(keyOf(call.id, call.name, input), call.arguments);
    return input;
  }

  /** Notes how an answer has its arguments, and returns what the SDK has no place for. */
  heard(answer: MessageTold): Kept {
    for (const each of answer.tool_calls ?? []) this.parsed(each);
    return keptOf(answer);
  }

  /** Returns messages of the SDK as the harness has them: one for each result of a tool. */
  tell(messages: readonly (Message | Prompt[number])[]): MessageTold[] {
    return messages.flatMap((each) => this.tellOne(each));
  }

  private tellOne(message: Message | Prompt[number]): MessageTold[] {
    const { role } = message;
    const content = message.content as string | Part[];
    const told: MessageTold = { role, content: "", ...keptIn(message) };
    if (typeof content === "string") return [{ ...told, content }];
    const calls: CallTold[] = [];
    const results: MessageTold[] = [];
    for (const each of content) {
      if (each.type === "text") {
        told.content += each.text;
        Object.assign(told, keptIn(each));
      } else if (each.type === "tool-call") {
        calls.push(this.tellCall(each.toolCallId, each.toolName, inputOf(each)));
      } else if (each.type === "tool-result") {
        results.push({ ...this.tellResult(each), ...keptIn(message) });
      }
    }
    if (role === "tool") return results;
    return [calls.length ? { ...told, tool_calls: calls } : told];
  }

  private tellResult(part: { toolCallId: string; toolName: string }): MessageTold {
    const result = resultOf(part);
    const written = this.written.get(keyOf(part.toolCallId, "", result));
    const content = typeof result === "string" ? result : (written ?? JSON.stringify(result));
    const name = part.toolName ? { name: part.toolName } : {}; // it has one wherever it was called
    return { role: "tool", content, tool_call_id: part.toolCallId, ...name };
  }

  /** Returns a call with its arguments as they were written, if that is known. */
  tellCall(id: string, name: string, input: unknown): CallTold {
    const text = this.texts.get(keyOf(id, name, input)) ?? JSON.stringify(input);
    return { id, name, arguments: text };
  }
}

/** Returns results and those behind them in one message, as the SDK itself leaves those of an answer. */
function withResults(last: Message | undefined, next: Message): Message | undefined {
  if (last?.role !== "tool" || next.role !== "tool" || !isBare(last) || !isBare(next)) return undefined;
  return { ...last, content: [...last.content, ...next.content] } as Message;
}

/** Whether a message has nothing beside its parts. */
function isBare(message: Message): boolean {
  return Object.keys(message).length === 2;
}

/** Tells calls apart in the same way on both sides of a check. */
function isOdd(callId: string): boolean {
  return [...callId].reduce((sum, each) => sum + each.charCodeAt(0), 0) % 2 === 1;
}

/** Returns the object or list that a text is the JSON of, if it is one. */
function valueIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function keptOf({ role, id, name, extra }: MessageTold): Kept {
  const kept: Kept = {};
  if (id !== undefined) kept.id = id;
  if (extra !== undefined) kept.extra = extra;
  if (name !== undefined && role !== "tool") kept.name = name;
  return kept;
}

function keyOf(id: string, name: string, input: unknown): string {
  return JSON.stringify([id, name, input]);
}
