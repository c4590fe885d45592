/** What is of the AI SDK since 5: its models, the parts of its messages, its loop. `major.ts` has what a version has alone. */
import {
  type AssistantModelMessage,
  type ModelMessage,
  type StepResult,
  type ToolSet,
  asSchema,
  dynamicTool,
  generateText,
  hasToolCall,
  jsonSchema,
  stepCountIs,
  streamText,
  wrapLanguageModel,
} from "ai";

import type { CallTold, MessageTold, Piece } from "../peer/frames.ts";
import type { InfoTold, Settings } from "../peer/harness.ts";
import { SPECIFICATION, STEP_END, USAGE, play, reasonOf, settingsOfRun } from "./major.ts";
import { type Chunk, type Execute, type Kept, type Played, sent, whyEnded } from "./playing.ts";
import { bare } from "./schemas.ts";
import { type Heard, readWhole } from "./streams.ts";

export { MORE, PROFILE } from "./major.ts";

export type Message = ModelMessage;
export type Model = Extract<Parameters<typeof wrapLanguageModel>[0]["model"], { specificationVersion: typeof SPECIFICATION }>;
type Layers = Parameters<typeof wrapLanguageModel>[0]["middleware"];
export type Middleware = Omit<Exclude<Layers, readonly unknown[]>, "specificationVersion">;
export type Asked = Parameters<Model["doGenerate"]>[0];
export type Answered = Awaited<ReturnType<Model["doGenerate"]>>;
export type Streamed = Awaited<ReturnType<Model["doStream"]>>;
type Part = Streamed["stream"] extends ReadableStream<infer P> ? P : never;
export type Prompt = Asked["prompt"];
type Options = Record<string, Record<string, unknown>> | undefined;

/** Under which provider's name what the SDK has no place for travels: ids, names, extras. */
const OURS = "refengine";

// Parts of messages

export function callPart(call: CallTold, input: unknown) {
  return { type: "tool-call" as const, toolCallId: call.id, toolName: call.name, input };
}

export function inputOf(part: object): unknown {
  return (part as { input: unknown }).input;
}

export function resultPart(told: MessageTold, result: unknown) {
  const output = { type: typeof result === "string" ? "text" : "json", value: result };
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

/** Returns a model that answers by functions: in one piece, and in a stream. */
export function modelOf(answer: (asked: Asked) => Promise<Answered>, stream: (asked: Asked) => Promise<Streamed>): Model {
  return {
    specificationVersion: SPECIFICATION,
    provider: "refengine",
    modelId: "refengine",
    supportedUrls: {},
    doGenerate: answer,
    doStream: stream,
  };
}

export function answered(told: MessageTold, kept: Kept): Answered {
  const { content, tool_calls: calls = [] } = told;
  const { providerOptions } = keeping(kept) as { providerOptions?: never };
  const text = { type: "text" as const, text: content, ...(providerOptions ? { providerMetadata: providerOptions } : {}) };
  const asked = calls.map((each) => ({ ...callPart(each, each.arguments), input: each.arguments }));
  return {
    content: [...(content || providerOptions ? [text] : []), ...asked],
    finishReason: reasonOf(whyEnded(told)),
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
    if (each.type === "tool-call") calls.push(callOf(each));
  }
  return calls.length ? { ...told, tool_calls: calls } : told;
}

export function streamed(stream: ReadableStream<Part>): Streamed {
  return { stream };
}

/** The one text of an answer in a stream. */
const TEXT = { id: "0" };

/** Yields the parts of a stream, as providers do: a call in deltas, and then as a whole. */
export async function* partsOf(answer: AsyncIterable<Heard>, keep: (whole: MessageTold) => Kept): AsyncGenerator<Part> {
  yield { type: "stream-start", warnings: [] };
  const begun = new Set<unknown>();
  for await (const each of answer) {
    if ("whole" in each) yield* lastParts(each.whole, keep(each.whole), begun);
    else if ("text" in each) {
      if (!begun.has(TEXT)) yield { type: "text-start", ...TEXT };
      begun.add(TEXT);
      yield { type: "text-delta", ...TEXT, delta: each.text };
    } else {
      const { id, name: toolName } = each.call;
      if (!begun.has(each.call)) yield { type: "tool-input-start", id, toolName };
      begun.add(each.call);
      if (each.more) yield { type: "tool-input-delta", id, delta: each.more };
    }
  }
}

function* lastParts(whole: MessageTold, kept: Kept, begun: Set<unknown>): Generator<Part> {
  const { content, finishReason, usage } = answered(whole, kept);
  for (const each of content) {
    if (each.type === "text") {
      const { providerMetadata } = each;
      if (!begun.has(TEXT)) yield { type: "text-start", ...TEXT };
      yield { type: "text-end", ...TEXT, ...(providerMetadata ? { providerMetadata } : {}) };
    } else if (each.type === "tool-call") {
      yield { type: "tool-input-end", id: each.toolCallId };
      yield each;
    }
  }
  yield { type: "finish", finishReason, usage };
}

/** Yields what the parts of a stream say; raises what one of them says is wrong. */
export async function* piecesOf(parts: ReadableStream<Part>): AsyncGenerator<Piece> {
  for await (const each of parts) {
    if (each.type === "text-delta") yield { message: { content: each.delta } };
    if (each.type === "tool-call") yield { message: { tool_calls: [callOf(each)] } };
    if (each.type === "error") throw each.error;
    if (each.type !== "text-end") continue;
    const kept = keptIn({ providerOptions: each.providerMetadata as Options });
    if (Object.keys(kept).length) yield { message: { ...kept } };
  }
}

function callOf({ toolCallId, toolName, input }: { toolCallId: string; toolName: string; input: string }): CallTold {
  return { id: toolCallId, name: toolName, arguments: input };
}

/** Returns what the model is told of its tools. */
export function infosOf({ tools = [] }: Asked): InfoTold[] {
  return tools.map((each) => ({
    name: each.name,
    description: each.type === "function" ? (each.description ?? "") : "",
    ...(each.type === "function" ? { parameters: bare(each.inputSchema) } : {}),
  }));
}

/** Returns what else is asked; a temperature of 0 is what 4 asks for by itself, and so left out. */
export function settingsOf(asked: Asked): Settings {
  const { maxOutputTokens, temperature, toolChoice, providerOptions, headers } = asked;
  const { topP, topK, presencePenalty, frequencyPenalty, stopSequences, seed } = asked;
  return {
    ...{ maxOutputTokens, temperature: temperature || undefined, topP, topK, presencePenalty, frequencyPenalty, stopSequences, seed },
    ...{ toolChoice: toolChoice?.type === "auto" ? undefined : toolChoice, providerOptions, headers: headers && sent(headers) },
  };
}

/** Returns the same question with those of its tools that are named, in that order. */
export function withTools(asked: Asked, names: string[]): Asked {
  const { tools } = asked;
  if (!tools) return asked;
  return { ...asked, tools: names.flatMap((name) => tools.filter((each) => each.name === name)) };
}

/** Returns what a tool takes, as a JSON schema; what is none takes anything. */
export function schemaOf({ inputSchema }: { inputSchema?: unknown }): object {
  return inputSchema === undefined ? {} : (asSchema(inputSchema as Parameters<typeof asSchema>[0]).jsonSchema as object);
}

// The loop

export function toolOf(description: string, execute: Execute): ToolSet[string] {
  return dynamicTool({
    description,
    inputSchema: jsonSchema({ type: "object", properties: {} }),
    execute: (input, { toolCallId }) => execute(input, toolCallId),
  });
}

/** Plays a run: one call of `generateText` or `streamText`, with what a subject gives it. */
export async function generated(played: Played): Promise<void> {
  const { instruction, messages, model, tools, steps: most, direct, own, signal } = played;
  const { stopWhen = own.isBare ? [] : stepCountIs(1), prepareStep, ...more } = own.settings as OwnSettings;
  const ended = (own.settings[STEP_END] ?? more.onStepFinish) as Given["onStepFinish"];
  const middleware = [...own.middleware, ...played.middleware];
  const given: Given = {
    ...(instruction ? { system: instruction } : {}),
    ...settingsOfRun(played),
    ...more,
    model: middleware.length ? wrapLanguageModel({ model, middleware: middleware as Layers }) : model,
    messages,
    ...(Object.keys(tools).length ? { tools: tools as ToolSet } : {}),
    stopWhen: [stepCountIs(most), ...direct.map((name) => hasToolCall(name)), ...[stopWhen].flat()],
    prepareStep: async (step) => {
      const asked = prepareStep ? { ...step, messages: step.messages.filter((each) => !isNothing(each)) } : step;
      const first = await prepareStep?.(asked);
      const left = await played.prepare(first?.messages ?? step.messages);
      return { ...first, ...(left ? { messages: left } : {}) };
    },
    [STEP_END]: async (step: StepResult<ToolSet>) => {
      played.finished({
        said: { role: "assistant", content: step.content.flatMap(saidPart) },
        results: step.response.messages.filter((each) => each.role === "tool"),
      });
      await ended?.(step);
    },
    maxRetries: 0,
    abortSignal: signal,
  };
  if (played.said) await told(given, played.said);
  else if (own.isBare) await play(given);
  else await generateText(given as unknown as Parameters<typeof generateText<ToolSet>>[0]);
}

function told(given: Given, said: (chunk: Chunk) => void): Promise<void> {
  const say = (chunk: Told) => {
    if (chunk.type === "text-delta") said(chunk.text);
    if (chunk.type === "tool-call") said({ id: chunk.toolCallId, name: chunk.toolName, input: chunk.input as unknown });
  };
  return readWhole<Told>(given, say, (hears) => streamText({ ...given, ...hears }));
}

type Told = Parameters<NonNullable<Given["onChunk"]>>[0]["chunk"];
export type Given = Parameters<typeof streamText<ToolSet>>[0];
type OwnSettings = Omit<Partial<Given>, "model" | "messages" | "prompt">;
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
