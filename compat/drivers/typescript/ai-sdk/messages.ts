/** Messages as the AI SDK has them, which are those of its models too, and back. */
import type { ModelMessage, ToolModelMessage } from "ai";

import type { CallTold, MessageTold } from "../peer/frames.ts";
import type { Part, Prompt } from "./model.ts";

/** Under which provider's name what the SDK has no place for travels: ids, names, extras. */
const OURS = "refengine";

type Kept = Pick<MessageTold, "id" | "name" | "extra">;
type Options = Record<string, Record<string, unknown>> | undefined;
type Output = ToolModelMessage["content"][number]["output"];

/** The messages of one agent as both sides have them. */
export class Messages {
  /** Arguments of calls as the model wrote them: the SDK keeps what they mean. */
  private readonly texts = new Map<string, string>();

  /** Returns messages of the harness as the SDK takes them. */
  read(told: MessageTold[]): Prompt {
    return told.map((each) => {
      const providerOptions = keptOf(each);
      switch (each.role) {
        case "system":
          return { role: "system", content: each.content, ...providerOptions };
        case "user":
          return { role: "user", content: [{ type: "text", text: each.content }], ...providerOptions };
        case "assistant":
          return { role: "assistant", content: this.readParts(each), ...providerOptions };
        case "tool": {
          const output = { type: "text" as const, value: each.content };
          const result = { toolCallId: each.tool_call_id ?? "", toolName: each.name ?? "", output };
          return { role: "tool", content: [{ type: "tool-result", ...result }], ...providerOptions };
        }
      }
    });
  }

  private readParts(told: MessageTold) {
    const text = told.content ? [{ type: "text" as const, text: told.content }] : [];
    const calls = (told.tool_calls ?? []).map((each) => ({
      type: "tool-call" as const,
      toolCallId: each.id,
      toolName: each.name,
      input: this.parsed(each),
    }));
    return [...text, ...calls];
  }

  /** Returns arguments parsed; their text is found again by `tellCall`. */
  private parsed(call: CallTold): unknown {
    const input: unknown = JSON.parse(call.arguments || "{}");
    this.texts.set(keyOf(call.id, call.name, input), call.arguments);
    return input;
  }

  /** Returns an answer of the harness's model as parts, which say what it is by the way. */
  parts(answer: MessageTold): Part[] {
    const { providerOptions } = keptOf(answer);
    const kept = providerOptions ? { providerMetadata: providerOptions } : {};
    const calls = (answer.tool_calls ?? []).map((each): Part => {
      this.parsed(each);
      return { type: "tool-call", toolCallId: each.id, toolName: each.name, input: each.arguments };
    });
    if (!answer.content && !providerOptions) return calls;
    return [{ type: "text", text: answer.content, ...kept }, ...calls];
  }

  /** Returns an answer as parts of a model's result, as a message. */
  answer(parts: readonly Part[]): MessageTold {
    const told: MessageTold = { role: "assistant", content: "" };
    const calls: CallTold[] = [];
    for (const each of parts) {
      if (each.type === "text") told.content += each.text;
      if (each.type === "text") Object.assign(told, keptIn(each.providerMetadata as Options));
      if (each.type === "tool-call") {
        calls.push({ id: each.toolCallId, name: each.toolName, arguments: each.input });
      }
    }
    return calls.length ? { ...told, tool_calls: calls } : told;
  }

  /** Returns messages of the SDK as the harness has them: one for each result of a tool. */
  tell(messages: readonly (ModelMessage | Prompt[number])[]): MessageTold[] {
    return messages.flatMap((each) => this.tellOne(each as Prompt[number]));
  }

  private tellOne(message: Prompt[number]): MessageTold[] {
    const kept = keptIn(message.providerOptions as Options);
    if (message.role === "system") return [{ role: "system", content: message.content, ...kept }];
    if (message.role === "tool") return message.content.map((each) => ({ ...tellResult(each), ...kept }));
    const { content } = message as { content: string | typeof message.content };
    const parts: typeof message.content = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const told: MessageTold = { role: message.role, content: "", ...kept };
    const calls: CallTold[] = [];
    for (const each of parts) {
      if (each.type === "text") {
        told.content += each.text;
        Object.assign(told, keptIn(each.providerOptions as Options));
      } else if (each.type === "tool-call") {
        calls.push(this.tellCall(each.toolCallId, each.toolName, each.input));
      }
    }
    return [calls.length ? { ...told, tool_calls: calls } : told];
  }

  /** Returns a call with its arguments as they were written, if that is known. */
  tellCall(id: string, name: string, input: unknown): CallTold {
    const text = this.texts.get(keyOf(id, name, input)) ?? JSON.stringify(input);
    return { id, name, arguments: text };
  }
}

function tellResult(part: { toolCallId: string; toolName: string; output: unknown }): MessageTold {
  const output = part.output as Output;
  const content = typeof output.value === "string" ? output.value : JSON.stringify(output.value);
  const name = part.toolName ? { name: part.toolName } : {}; // it has one wherever it was called
  return { role: "tool", content, tool_call_id: part.toolCallId, ...name };
}

function keptOf({ role, id, name, extra }: MessageTold) {
  const kept: Kept = {};
  if (id !== undefined) kept.id = id;
  if (extra !== undefined) kept.extra = extra;
  if (name !== undefined && role !== "tool") kept.name = name;
  if (!Object.keys(kept).length) return {};
  return { providerOptions: { [OURS]: kept as Record<string, never> } };
}

function keptIn(options: Options): Kept {
  return (options?.[OURS] ?? {}) as Kept;
}

function keyOf(id: string, name: string, input: unknown): string {
  return JSON.stringify([id, name, input]);
}
