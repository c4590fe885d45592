/**
 * The loop of decision record 001: a result of a tool may ask the model for another round.
 *
 *     const system = new BaseAISystem({ model });
 *     const result = await system.processInputStreamWithTools({ input: "hi", tools });
 *
 * The record's one large function is taken apart into steps. Each is a method, so that who
 * needs another step overrides it; what belongs to one call stands in its `Call`.
 */
import { setTimeout } from "node:timers/promises";
import { randomUUID } from "node:crypto";

import { Telling, type ResponseCallbacks } from "./callbacks.ts";
import * as errors from "./errors.ts";
import { checkCall, checkResult, roundsOf, type Limits } from "./limits.ts";
import { PartsTracker, type CallPiece, type NewId, type PartEvent } from "./parts.ts";
import type { PartsSnapshot, ToolCall } from "./parts.ts";
import { abortable, inTime } from "./waiting.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly name?: string;
}

export interface ResponseChunk {
  readonly content: string;
  readonly calls: readonly CallPiece[];
}

/** Streams an answer; who reads it no further leaves the stream, and it is closed. */
export interface Model {
  stream(
    messages: readonly Message[],
    tools: readonly Tool[],
    signal: AbortSignal,
  ): AsyncIterable<ResponseChunk>;
}

/** What a tool gives that has more to say than a text. */
export class ToolOutput {
  readonly result: unknown;
  readonly requiresFollowUp: unknown;

  constructor(result: unknown, requiresFollowUp: unknown = false) {
    this.result = result;
    this.requiresFollowUp = requiresFollowUp;
  }
}

export interface Tool {
  readonly name: string;
  /** Gives a text or a ToolOutput; anything else is not a result. */
  invoke(call: ToolCall, signal: AbortSignal): Promise<unknown>;
}

/** What became of one call; `text` is what the model is told of it. */
export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly result?: unknown;
  readonly requiresFollowUp?: unknown;
  readonly error?: Error;
}

export type Status = "completed" | "max_iterations" | "timed_out" | "error" | "cancelled";

/** How a call ended; `history` is what the next call is given to go on from here. */
export interface LoopResult {
  readonly text: string;
  readonly status: Status;
  readonly rounds: number;
  readonly parts: PartsSnapshot;
  readonly history: readonly Message[];
}

/** What one round gave; without `requiresFollowUp` it is the last. */
export interface Iteration {
  readonly fullResponse: string;
  readonly answer: Message;
  readonly results: readonly ToolResult[];
  readonly requiresFollowUp: boolean;
  readonly nextPrompt: string;
}

export interface Clock {
  now(): Promise<number>;
  /** Returns when so many seconds have passed; fails when the signal aborts. */
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
}

export type LogFields = Readonly<Record<string, string | number>>;

export interface SystemOptions {
  model: Model;
  instruction?: string;
  limits?: Limits;
  newId?: NewId;
  clock?: Clock;
  /** Hears of what happens, by fields: the round, the call, how long it took. */
  log?: (level: "info" | "warning", fields: LogFields) => void;
  warn?: (kind: errors.WarningKind, text: string) => void;
}

export interface ProcessParams extends ResponseCallbacks {
  input: string;
  tools: readonly Tool[];
  maxIterations?: number;
  /** What was said before. */
  history?: readonly Message[];
  signal?: AbortSignal;
}

/** One call of `processInputStreamWithTools`, and how far it has come. */
export interface Call {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly telling: Telling;
  readonly mostRounds: number;
  readonly tracker: PartsTracker;
  history: readonly Message[];
  round: number;
}

export const REAL_TIME: Clock = {
  now: async () => performance.now() / 1000,
  sleep: (seconds, signal) => setTimeout(seconds * 1000, undefined, { signal }),
};

/** One round, as it was before there was a loop: whatever results ask, that is all. */
export class LinearAISystem {
  protected readonly options: Required<SystemOptions>;

  constructor(options: SystemOptions) {
    this.options = {
      instruction: "",
      limits: {},
      newId: async () => randomUUID(),
      clock: REAL_TIME,
      log: () => {},
      warn: (kind, text) => process.emitWarning(text, { code: kind }),
      ...options,
    };
  }

  /** Asks the model and executes its calls. What breaks a stream comes out. */
  async processInputStreamWithTools(params: ProcessParams): Promise<LoopResult> {
    const call = this.begun(params);
    const signal = params.signal ?? new AbortController().signal;
    let result: LoopResult;
    try {
      result = await this.processRounds(call, signal);
    } catch (error) {
      const reason = errors.errorOf(error);
      if (error instanceof errors.RoundTimedOut) return this.#broke(call, "timed_out", reason);
      await this.#broke(call, signal.aborted ? "cancelled" : "error", reason);
      throw error;
    }
    await this.#toldEnd(call, result);
    return result;
  }

  protected begun(params: ProcessParams, mostRounds = 1): Call {
    return {
      tools: new Map(params.tools.map((each) => [each.name, each])),
      telling: new Telling(params, this.options.warn),
      mostRounds,
      tracker: new PartsTracker(),
      history: [...(params.history ?? []), { role: "user", content: params.input }],
      round: 0,
    };
  }

  protected async processRounds(call: Call, signal: AbortSignal): Promise<LoopResult> {
    const { fullResponse } = await this.processInTime(call, signal);
    return this.resultOf(call, fullResponse, "completed");
  }

  protected resultOf(call: Call, text: string, status: Status): LoopResult {
    const { round: rounds, history, tracker } = call;
    return { text, status, rounds, parts: tracker.snapshot, history };
  }

  /** Processes the next round in its time, and feeds its results into the history. */
  protected async processInTime(call: Call, signal: AbortSignal): Promise<Iteration> {
    const round = ++call.round;
    const { log, clock, limits } = this.options;
    const began = clock.now();
    call.tracker.beginRound();
    log("info", { event: "round_started", round });
    const late = (seconds: number) => new errors.RoundTimedOut(round, seconds);
    const found = await inTime(clock, limits.roundSeconds, signal, late, (within) =>
      this.processSingleIteration(call, within),
    );
    log("info", { event: "round_ended", round, seconds: (await clock.now()) - (await began) });
    call.history = this.provideToolResultFeedback(call.history, found);
    return found;
  }

  /** Streams one answer, then executes its calls. */
  protected async processSingleIteration(call: Call, signal: AbortSignal): Promise<Iteration> {
    const answer = await this.#streamed(call, signal);
    const results = await this.#executed(answer.toolCalls ?? [], call, signal);
    const fullResponse = answer.content;
    return { fullResponse, answer, results, requiresFollowUp: false, nextPrompt: "" };
  }

  /** Tells a chunk: its text, then its pieces of calls. */
  protected async processAIResponseChunk(chunk: ResponseChunk, call: Call): Promise<void> {
    const { tracker, telling } = call;
    if (chunk.content) {
      await telling.tell("onChunk", chunk.content);
      await this.#toldAll(tracker.addText(chunk.content), call);
    }
    for (const piece of chunk.calls) {
      await this.#toldAll(tracker.addPiece(piece, this.options.newId), call);
    }
  }

  /** Executes one call; whatever keeps it from a result comes out. */
  protected async executeToolCall(
    toolCall: ToolCall,
    tools: ReadonlyMap<string, Tool>,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const tool = tools.get(toolCall.name);
    if (tool === undefined) throw new errors.ToolMissing(toolCall.name, [...tools.keys()]);
    const given = await tool.invoke(toolCall, signal);
    const of = { callId: toolCall.id, name: toolCall.name };
    if (typeof given === "string") return { ...of, text: given, result: given };
    if (!(given instanceof ToolOutput)) throw new errors.NoToolOutput(toolCall.name, given);
    const { result, requiresFollowUp } = given;
    const text = typeof result === "string" ? result : JSON.stringify(result);
    return { ...of, text, result, requiresFollowUp };
  }

  /** Returns the history with an answer and the results of its calls behind it. */
  protected provideToolResultFeedback(
    history: readonly Message[],
    { answer, results }: Iteration,
  ): readonly Message[] {
    const told = results.map(
      ({ text, callId, name }): Message =>
        ({ role: "tool", content: text, toolCallId: callId, name }),
    );
    return [...history, answer, ...told];
  }

  async #streamed(call: Call, signal: AbortSignal): Promise<Message> {
    const { model, instruction, newId } = this.options;
    const system: Message[] = instruction ? [{ role: "system", content: instruction }] : [];
    const messages = [...system, ...call.history];
    let content = "";
    for await (const chunk of model.stream(messages, [...call.tools.values()], signal)) {
      content += chunk.content;
      await abortable(signal, this.processAIResponseChunk(chunk, call));
    }
    await abortable(signal, this.#toldAll(call.tracker.endStream(newId), call));
    return { role: "assistant", content, toolCalls: call.tracker.calls };
  }

  /** Executes calls at the same time; their results are told in their order. */
  async #executed(
    calls: readonly ToolCall[],
    call: Call,
    signal: AbortSignal,
  ): Promise<ToolResult[]> {
    for (const at of calls.keys()) {
      await abortable(signal, this.#toldAll(call.tracker.execute(at), call));
    }
    const stop = new AbortController();
    const within = AbortSignal.any([signal, stop.signal]);
    const tasks = calls.map((each, at) => settled(this.#attempt(each, at, call, within)));
    try {
      const results: ToolResult[] = [];
      for (const [at, task] of tasks.entries()) {
        const result = await task;
        signal.throwIfAborted();
        results.push(await abortable(signal, this.#told(at, calls[at], result, call)));
      }
      return results;
    } finally {
      stop.abort(); // whatever still runs ends with the round
      await Promise.all(tasks);
    }
  }

  async #attempt(
    toolCall: ToolCall,
    at: number,
    call: Call,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { log, clock, limits } = this.options;
    const began = clock.now(); // asked, so that nothing waits for it
    const about = { round: call.round, call_id: toolCall.id, name: toolCall.name };
    log("info", { event: "call_started", ...about });
    try {
      checkCall(limits, toolCall, at);
      const late = (seconds: number) => new errors.ToolTimedOut(toolCall.name, seconds);
      const result = await inTime(clock, limits.toolSeconds, signal, late, (within) =>
        this.executeToolCall(toolCall, call.tools, within),
      );
      checkResult(limits, result);
      log("info", { event: "call_ended", ...about, seconds: (await clock.now()) - (await began) });
      return result;
    } catch (error) {
      const fields = { error: errors.errorOf(error).name, seconds: (await clock.now()) - (await began) };
      log("warning", { event: "call_ended", ...about, ...fields });
      throw error;
    }
  }

  async #told(at: number, toolCall: ToolCall, found: Settled, call: Call): Promise<ToolResult> {
    const result = found instanceof Error ? failed(toolCall, found) : found;
    const why = result.error === undefined ? "" : result.text;
    await this.#toldAll(call.tracker.finish(at, result.text, why), call);
    await call.telling.tell("onToolResult", result);
    return result;
  }

  async #toldAll(
    events: Iterable<PartEvent> | AsyncIterable<PartEvent>,
    { telling, tracker }: Call,
  ): Promise<void> {
    for await (const event of events) {
      await telling.tell("onPartEvent", event);
      if (telling.hears("onPartsChange")) await telling.tell("onPartsChange", tracker.snapshot);
      if (event.state === "ready") await telling.tell("onToolCall", tracker.callAt(event.place));
    }
  }

  async #broke(call: Call, status: Status, error: Error): Promise<LoopResult> {
    await this.#toldAll(call.tracker.fail(String(error)), call);
    if (status !== "cancelled") await call.telling.failed(error, "round");
    const result = this.resultOf(call, call.tracker.roundText, status);
    await this.#toldEnd(call, result);
    return result;
  }

  async #toldEnd(call: Call, result: LoopResult): Promise<void> {
    await call.telling.tell("onEnd", result);
    const { status, rounds: round } = result;
    const level = status === "completed" || status === "max_iterations" ? "info" : "warning";
    this.options.log(level, { event: "loop_ended", round, status });
  }
}

/** The loop: goes on with another round while a result asks for it. */
export class BaseAISystem extends LinearAISystem {
  protected override begun(params: ProcessParams): Call {
    return super.begun(params, roundsOf(params.maxIterations));
  }

  protected override async processRounds(call: Call, signal: AbortSignal): Promise<LoopResult> {
    for (;;) {
      const found = await this.processInTime(call, signal);
      const text = found.fullResponse;
      if (!found.requiresFollowUp) return this.resultOf(call, text, "completed");
      if (!found.nextPrompt) {
        this.options.warn("empty_prompt", `round ${call.round} asks with an empty prompt`);
        return this.resultOf(call, text, "completed");
      }
      call.history = [...call.history, { role: "user", content: found.nextPrompt }];
      if (call.round >= call.mostRounds) return this.resultOf(call, text, "max_iterations");
    }
  }

  /** Processes one round, and looks which of its results ask for another. */
  protected override async processSingleIteration(
    call: Call,
    signal: AbortSignal,
  ): Promise<Iteration> {
    const found = await super.processSingleIteration(call, signal);
    const asking = found.results.filter((each) => this.shouldContinueProcessing(each));
    const prompts = asking.map((each) => this.buildNextPrompt(each)).filter(Boolean);
    const nextPrompt = prompts.join("\n");
    return { ...found, requiresFollowUp: asking.length > 0, nextPrompt };
  }

  /** Tells whether a result asks for another round; only `true` itself does. */
  protected shouldContinueProcessing(result: ToolResult): boolean {
    return result.error === undefined && result.requiresFollowUp === true;
  }

  /** Returns what the model is asked next because of a result. */
  protected buildNextPrompt(result: ToolResult): string {
    return `基于以下结果继续: ${JSON.stringify(result.result)}`;
  }
}

type Settled = ToolResult | Error;

/** Returns what a task gives, or what it fails with. */
async function settled(task: Promise<ToolResult>): Promise<Settled> {
  try {
    return await task;
  } catch (error) {
    return errors.errorOf(error);
  }
}

function failed({ id, name }: ToolCall, error: Error): ToolResult {
  return { callId: id, name, text: String(error), error };
}
