/** What is of the AI SDK 5 alone: its models, the parts of its messages, its loop. */
import {
  type AssistantModelMessage,
  type ModelMessage,
  type StepResult,
  type ToolSet,
  dynamicTool,
  generateText,
  hasToolCall,
  jsonSchema,
  stepCountIs,
  wrapLanguageModel,
} from "ai";

import type { CallTold, MessageTold } from "../peer/frames.ts";
import type { InfoTold } from "../peer/harness.ts";
import type { Execute, Kept, Played } from "./playing.ts";

export const PROFILE = "ai-sdk-5";
/** What this version has beside what all of them have. */
export const MORE = ["return_directly"];

export type Message = ModelMessage;
export type Model = Parameters<typeof wrapLanguageModel>[0]["model"];
export type Middleware = Exclude<Parameters<typeof wrapLanguageModel>[0]["middleware"], readonly unknown[]>;
export type Asked = Parameters<Model["doGenerate"]>[0];
export type Answered = Awaited<ReturnType<Model["doGenerate"]>>;
export type Prompt = Asked["prompt"];
type Options = Record<string, Record<string, unknown>> | undefined;

const USAGE = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };

/** Under which provider's name what the SDK has no place for travels: ids, names, extras. */
const OURS = "refengine";

// Parts of messages

export function callPart(call: CallTold, input: unknown) {
  return { type: "tool-call" as const, toolCallId: call.id, toolName: call.name, input };
}

export function inputOf(part: object): unknown {
  return (part as { input: unknown }).input;
}

export function resultPart(told: MessageTold) {
  const output = { type: "text" as const, value: told.content };
  return { type: "tool-result" as const, toolCallId: told.tool_call_id ?? "", toolName: told.name ?? "", output };
}

export function resultOf(part: object): unknown {
  return (part as { output: { value: unknown } }).output.value;
}

/** Returns where a message, or a part of one, keeps what the SDK has no place for. */
export function keeping(kept: Kept): object {
  return Object.keys(kept).length ? { providerOptions: { [OURS]: kept } } : {};
}

export function keptIn(of: object): Kept {
  return ((of as { providerOptions?: Options }).providerOptions?.[OURS] ?? {}) as Kept;
}

// Models

/** Returns a model that answers by a function. */
export function modelOf(answer: (asked: Asked) => Promise<Answered>): Model {
  return {
    specificationVersion: "v2",
    provider: "refengine",
    modelId: "refengine",
    supportedUrls: {},
    doGenerate: answer,
    doStream() {
      throw new Error("runs that stream are declined");
    },
  };
}

export function answered({ content, tool_calls: calls = [] }: MessageTold, kept: Kept): Answered {
  const { providerOptions } = keeping(kept) as { providerOptions?: never };
  const text = { type: "text" as const, text: content, ...(providerOptions ? { providerMetadata: providerOptions } : {}) };
  const asked = calls.map((each) => ({ ...callPart(each, each.arguments), input: each.arguments }));
  return {
    content: [...(content || providerOptions ? [text] : []), ...asked],
    finishReason: calls.length ? "tool-calls" : "stop",
    usage: USAGE,
    warnings: [],
  };
}

export function answerOf({ content }: Answered): MessageTold {
  const told: MessageTold = { role: "assistant", content: "" };
  const calls: CallTold[] = [];
  for (const each of content) {
    if (each.type === "text") told.content += each.text;
    if (each.type === "text") Object.assign(told, (each.providerMetadata as Options)?.[OURS]);
    if (each.type === "tool-call") {
      calls.push({ id: each.toolCallId, name: each.toolName, arguments: each.input });
    }
  }
  return calls.length ? { ...told, tool_calls: calls } : told;
}

/** Returns what the model is told of its tools. */
export function infosOf({ tools = [] }: Asked): InfoTold[] {
  return tools.map((each) => ({
    name: each.name,
    description: each.type === "function" ? (each.description ?? "") : "",
  }));
}

/** Returns the same question with those of its tools that are named, in that order. */
export function withTools(asked: Asked, names: string[]): Asked {
  const { tools } = asked;
  if (!tools) return asked;
  return { ...asked, tools: names.flatMap((name) => tools.filter((each) => each.name === name)) };
}

// The loop

export function toolOf(description: string, execute: Execute): ToolSet[string] {
  return dynamicTool({
    description,
    inputSchema: jsonSchema({ type: "object", properties: {} }),
    execute: (input, { toolCallId }) => execute(input, toolCallId),
  });
}

/** Plays a run: one call of `generateText`, with what a subject gives it. */
export async function generated(played: Played): Promise<void> {
  const { instruction, messages, model, tools, steps: most, direct, own, signal } = played;
  const { stopWhen = own.isBare ? [] : stepCountIs(1), prepareStep, onStepFinish, ...more } = own.settings as Settings;
  const middleware = [...own.middleware, ...played.middleware];
  await generateText({
    ...(instruction ? { system: instruction } : {}),
    ...more,
    model: middleware.length ? wrapLanguageModel({ model, middleware }) : model,
    messages,
    ...(Object.keys(tools).length ? { tools: tools as ToolSet } : {}),
    stopWhen: [stepCountIs(most), ...direct.map(hasToolCall), ...[stopWhen].flat()],
    prepareStep: async (step) => {
      const asked = prepareStep ? { ...step, messages: step.messages.filter((each) => !isNothing(each)) } : step;
      const first = await prepareStep?.(asked);
      const left = await played.prepare(first?.messages ?? step.messages);
      return { ...first, ...(left ? { messages: left } : {}) };
    },
    onStepFinish: async (step) => {
      played.finished({
        said: { role: "assistant", content: step.content.flatMap(saidPart) },
        results: step.response.messages.filter((each) => each.role === "tool"),
      });
      await onStepFinish?.(step);
    },
    maxRetries: 0,
    abortSignal: signal,
  });
}

type Settings = Omit<Partial<Parameters<typeof generateText<ToolSet>>[0]>, "model" | "messages" | "prompt">;
type Said = StepResult<ToolSet>["content"][number];

function saidPart(part: Said): Exclude<AssistantModelMessage["content"], string> {
  const of = (more: { providerMetadata?: unknown }) => (more.providerMetadata ? { providerOptions: more.providerMetadata as never } : {});
  if (part.type === "text") return [{ type: "text", text: part.text, ...of(part) }];
  if (part.type !== "tool-call") return [];
  return [{ type: "tool-call", toolCallId: part.toolCallId, toolName: part.toolName, input: part.input }];
}

/** Stands where there is no message at all, which `generateText` refuses. */
export const NOTHING: Message = { role: "user", content: "" };

export function isNothing({ role, content }: Message): boolean {
  return role === "user" && content === "";
}

/** Names the tool for want of which a run ended: in this version its call is answered. */
export function unknownTool(_: unknown): string | undefined {
  return undefined;
}
