/** What is of the AI SDK 4 alone: its models, the parts of its messages, its loop. */
import {
  type CoreMessage,
  type LanguageModelV1,
  type LanguageModelV1Middleware,
  NoSuchToolError,
  type StepResult,
  type ToolSet,
  generateText,
  jsonSchema,
  streamText,
  tool,
  wrapLanguageModel,
} from "ai";

import { asSchema } from "@ai-sdk/ui-utils";

import type { CallTold, MessageTold, Piece } from "../peer/frames.ts";
import type { InfoTold, Settings } from "../peer/harness.ts";
import { type Chunk, type Execute, type Kept, type Played, sent, whyEnded } from "./playing.ts";
import { bare } from "./schemas.ts";
import { type Heard, readWhole } from "./streams.ts";

export const PROFILE = "ai-sdk-4";
/** What this version has beside what all of them have: it cannot stop after a call. */
export const MORE: string[] = [];

export type Model = LanguageModelV1;
export type Middleware = LanguageModelV1Middleware;
export type Asked = Parameters<Model["doGenerate"]>[0];
export type Answered = Awaited<ReturnType<Model["doGenerate"]>>;
export type Streamed = Awaited<ReturnType<Model["doStream"]>>;
type Part = Streamed["stream"] extends ReadableStream<infer P> ? P : never;
export type Prompt = Asked["prompt"];
export type Message = CoreMessage | Prompt[number];
type Options = Record<string, Record<string, unknown>> | undefined;
/** What the SDK calls `providerOptions`, and its models `providerMetadata`. */
interface Optional {
  providerOptions?: Options;
  providerMetadata?: Options;
}

/** Under which provider's name what the SDK has no place for travels: ids, names, extras. */
const OURS = "refengine";

// Parts of messages

export function callPart(call: CallTold, input: unknown) {
  return { type: "tool-call" as const, toolCallId: call.id, toolName: call.name, args: input };
}

export function inputOf(part: object): unknown {
  return (part as { args: unknown }).args;
}

export function resultPart({ tool_call_id: toolCallId = "", name: toolName = "" }: MessageTold, result: unknown) {
  return { type: "tool-result" as const, toolCallId, toolName, result };
}

export function resultOf(part: object): unknown {
  return (part as { result: unknown }).result;
}

/** Returns where a message keeps what the SDK has no place for. */
export function keeping(kept: Kept): object {
  if (!Object.keys(kept).length) return {};
  return { providerOptions: { [OURS]: kept }, providerMetadata: { [OURS]: kept } };
}

export function keptIn(of: object): Kept {
  const { providerOptions, providerMetadata } = of as Optional;
  return ((providerOptions ?? providerMetadata)?.[OURS] ?? {}) as Kept;
}

// Models

/** Returns a model that answers by functions: in one piece, and in a stream. */
export function modelOf(answer: (asked: Asked) => Promise<Answered>, stream: (asked: Asked) => Promise<Streamed>): Model {
  return {
    specificationVersion: "v1",
    provider: "refengine",
    modelId: "refengine",
    defaultObjectGenerationMode: undefined,
    doGenerate: answer,
    doStream: stream,
  };
}

export function answered(told: MessageTold, kept: Kept): Answered {
  const { content, tool_calls: calls = [] } = told;
  return {
    text: content,
    toolCalls: calls.map((each) => ({
      toolCallType: "function",
      toolCallId: each.id,
      toolName: each.name,
      args: each.arguments,
    })),
    finishReason: whyEnded(told),
    usage: { promptTokens: 0, completionTokens: 0 },
    rawCall: { rawPrompt: undefined, rawSettings: {} },
    ...(keeping(kept) as { providerMetadata?: never }),
  };
}

export function answerOf({ text = "", toolCalls = [], providerMetadata }: Answered): MessageTold {
  const told: MessageTold = { role: "assistant", content: text, ...((providerMetadata as Options)?.[OURS] as Kept) };
  const calls = toolCalls.map(callOf);
  return calls.length ? { ...told, tool_calls: calls } : told;
}

export function streamed(stream: ReadableStream<Part>): Streamed {
  return { stream, rawCall: { rawPrompt: undefined, rawSettings: {} } };
}

/** Yields the parts of a stream, as providers do: a call in deltas, and then as a whole. */
export async function* partsOf(answer: AsyncIterable<Heard>, keep: (whole: MessageTold) => Kept): AsyncGenerator<Part> {
  for await (const each of answer) {
    if ("text" in each) yield { type: "text-delta", textDelta: each.text };
    else if ("call" in each) {
      const { id: toolCallId, name: toolName } = each.call;
      yield { type: "tool-call-delta", toolCallType: "function", toolCallId, toolName, argsTextDelta: each.more };
    } else yield* lastParts(each.whole, keep(each.whole));
  }
}

function* lastParts(whole: MessageTold, kept: Kept): Generator<Part> {
  const { toolCalls = [], finishReason, usage, providerMetadata } = answered(whole, kept);
  for (const each of toolCalls) yield { type: "tool-call", ...each };
  yield { type: "finish", finishReason, usage, ...(providerMetadata ? { providerMetadata } : {}) };
}

/** Yields what the parts of a stream say; raises what one of them says is wrong. */
export async function* piecesOf(parts: ReadableStream<Part>): AsyncGenerator<Piece> {
  for await (const each of parts) {
    if (each.type === "text-delta") yield { message: { content: each.textDelta } };
    if (each.type === "tool-call") yield { message: { tool_calls: [callOf(each)] } };
    if (each.type === "error") throw each.error;
    if (each.type !== "finish") continue;
    const kept = keptIn({ providerMetadata: each.providerMetadata as Options });
    if (Object.keys(kept).length) yield { message: { ...kept } };
  }
}

function callOf({ toolCallId, toolName, args }: { toolCallId: string; toolName: string; args: string }): CallTold {
  return { id: toolCallId, name: toolName, arguments: args };
}

/** Returns what the model is told of its tools. */
export function infosOf({ mode }: Asked): InfoTold[] {
  const tools = (mode.type === "regular" && mode.tools) || [];
  return tools.map((each) => ({
    name: each.name,
    description: each.type === "function" ? (each.description ?? "") : "",
    ...(each.type === "function" ? { parameters: bare(each.parameters) } : {}),
  }));
}

/** Returns what else is asked, in the words of 5; a temperature of 0 is what 4 asks for by itself. */
export function settingsOf(asked: Asked): Settings {
  const { maxTokens: maxOutputTokens, temperature, mode, providerMetadata, headers } = asked;
  const { topP, topK, presencePenalty, frequencyPenalty, stopSequences, seed } = asked;
  const choice = mode.type === "regular" && mode.toolChoice?.type !== "auto" ? mode.toolChoice : undefined;
  return {
    ...{ maxOutputTokens, temperature: temperature || undefined, topP, topK, presencePenalty, frequencyPenalty, stopSequences, seed },
    ...{ toolChoice: choice, providerOptions: providerMetadata, headers: headers && sent(headers) },
  };
}

/** Returns the same question with those of its tools that are named, in that order. */
export function withTools(asked: Asked, names: string[]): Asked {
  const { mode } = asked;
  if (mode.type !== "regular" || !mode.tools) return asked;
  const tools = names.flatMap((name) => mode.tools?.filter((each) => each.name === name) ?? []);
  return { ...asked, mode: { ...mode, tools } };
}

/** Returns what a tool takes, as a JSON schema; what is none takes anything. */
export function schemaOf({ parameters }: { parameters?: unknown }): object {
  return parameters === undefined ? {} : asSchema(parameters as Parameters<typeof asSchema>[0]).jsonSchema;
}

// The loop

export function toolOf(description: string, execute: Execute): ToolSet[string] {
  return tool({
    description,
    parameters: jsonSchema({ type: "object", properties: {} }),
    execute: (input: unknown, { toolCallId }: { toolCallId: string }) => execute(input, toolCallId),
  });
}

/** Plays a run: one call of `generateText` or `streamText`, with what a subject gives it. */
export async function generated(played: Played): Promise<void> {
  const { instruction, messages, tools, steps: most, own, signal } = played;
  const { maxSteps = own.isBare ? most : 1, onStepFinish, ...more } = own.settings as OwnSettings;
  const middleware = [preparing(played), ...own.middleware, ...played.middleware];
  const given = {
    ...(instruction ? { system: instruction } : {}),
    ...more,
    model: wrapLanguageModel({ model: played.model, middleware }),
    messages: messages as CoreMessage[],
    ...(Object.keys(tools).length ? { tools: tools as ToolSet } : {}),
    maxSteps: Math.min(most, maxSteps),
    onStepFinish: async (step: StepResult<ToolSet>) => {
      const calls = step.toolCalls.map(({ toolCallId, toolName, args }) => ({ type: "tool-call" as const, toolCallId, toolName, args: args as unknown }));
      const kept = keeping(keptIn({ providerMetadata: step.providerMetadata as Options }));
      const text = step.text ? [{ type: "text" as const, text: step.text }] : [];
      played.finished({
        said: { role: "assistant", content: [...text, ...calls], ...kept },
        results: step.response.messages.filter((each) => each.role === "tool"),
      });
      await onStepFinish?.(step);
    },
    maxRetries: 0,
    abortSignal: signal,
  };
  if (played.said) await told(given, played.said);
  else await generateText(given);
}

function told(given: Given, said: (chunk: Chunk) => void): Promise<void> {
  const say = (chunk: Told) => {
    if (chunk.type === "text-delta") said(chunk.textDelta);
    if (chunk.type === "tool-call") said({ id: chunk.toolCallId, name: chunk.toolName, input: chunk.args as unknown });
  };
  return readWhole<Told>(given, say, (hears) => streamText({ ...given, ...hears }));
}

type Told = Parameters<NonNullable<Given["onChunk"]>>[0]["chunk"];
type Given = Parameters<typeof streamText<ToolSet>>[0];
type OwnSettings = Omit<Partial<Parameters<typeof generateText<ToolSet>>[0]>, "model" | "messages" | "prompt">;

/** Returns what prepares a step: in this version only a middleware sees its messages. */
function preparing({ prepare, instruction, own }: Played): Middleware {
  const system = own.settings["system"] ?? instruction;
  return {
    async transformParams({ params }) {
      const { prompt } = params;
      const head = system ? prompt.slice(0, 1) : [];
      const left = await prepare(prompt.slice(head.length));
      return left ? { ...params, prompt: [...head, ...(left as Prompt)] } : params;
    },
  };
}

/** Stands where there is no message at all, which `generateText` refuses. */
export const NOTHING: Message = { role: "user", content: "" };

export function isNothing({ role, content }: Message): boolean {
  if (role !== "user") return false;
  const [first] = content as readonly { type: string; text?: string }[];
  return content === NOTHING.content || (first?.type === "text" && first.text === "");
}

/** Names the tool for want of which a run ended, if that is what ended it. */
export function unknownTool(error: unknown): string | undefined {
  return NoSuchToolError.isInstance(error) ? error.toolName : undefined;
}
