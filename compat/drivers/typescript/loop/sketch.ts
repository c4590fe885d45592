/**
 * The loop as decision record 001 sketches it.
 *
 * Its main function, its decision and its prompt stand here as they do there. What the
 * record only names is the plainest code that could be meant: a variable that each result
 * overwrites, no word about what fails. `loop.ts` beside it is what was made of it.
 */
import type { Model, ResponseChunk, Tool } from "./loop.ts";
import { ToolOutput } from "./loop.ts";
import { PartsTracker, type NewId, type PartEvent } from "./parts.ts";
import type { PartsSnapshot, ToolCall } from "./parts.ts";

interface ToolResult {
  callId: string;
  name: string;
  text: string;
  result: unknown;
  requiresFollowUp?: unknown;
}

interface ProcessParams {
  input: string;
  tools: readonly Tool[];
  onChunk?: (chunk: string) => void;
  onToolCall?: (toolCall: ToolCall) => void;
  onToolResult?: (toolResult: ToolResult) => void;
  onPartsChange?: (parts: PartsSnapshot) => void;
  onPartEvent?: (event: PartEvent) => void;
  maxIterations?: number;
}

interface Iteration {
  fullResponse: string;
  requiresFollowUp: boolean;
  nextPrompt?: string;
}

const NOBODY_STOPS_IT = new AbortController().signal;

export class SketchedAISystem {
  readonly #model: Model;
  readonly #newId: NewId;

  constructor(model: Model, newId: NewId) {
    this.#model = model;
    this.#newId = newId;
  }

  async processInputStreamWithTools(params: ProcessParams): Promise<string> {
    const tracker = new PartsTracker();
    let currentInput = params.input;
    let iterations = 0;
    const maxIterations = params.maxIterations || 3;

    while (iterations < maxIterations) {
      const result = await this.processSingleIteration(currentInput, params, tracker);

      if (!result.requiresFollowUp) {
        return result.fullResponse;
      }

      currentInput = result.nextPrompt || "";
      iterations++;
    }

    return "达到最大循环次数限制";
  }

  protected shouldContinueProcessing(toolResult: ToolResult): boolean {
    return toolResult.requiresFollowUp === true;
  }

  protected buildNextPrompt(toolResult: ToolResult): string {
    return `基于以下结果继续: ${JSON.stringify(toolResult.result)}`;
  }

  private async processSingleIteration(
    input: string,
    params: ProcessParams,
    tracker: PartsTracker,
  ): Promise<Iteration> {
    const found: Iteration = { fullResponse: "", requiresFollowUp: false };
    tracker.beginRound();
    const asked = [{ role: "user", content: input }] as const;
    for await (const chunk of this.#model.stream(asked, params.tools, NOBODY_STOPS_IT)) {
      found.fullResponse += chunk.content;
      await this.processAIResponseChunk(chunk, tracker, params);
    }
    await this.told(tracker.endStream(this.#newId), tracker, params);

    const calls = tracker.calls;
    for (const at of calls.keys()) await this.told(tracker.execute(at), tracker, params);
    // Awaited together, since a call that fails while another is awaited ends the process.
    const running = calls.map((each) => this.executeToolCall(each, params.tools));
    for (const [at, result] of (await Promise.all(running)).entries()) {
      await this.told(tracker.finish(at, result.text), tracker, params);
      await params.onToolResult?.(result);
      found.requiresFollowUp = this.shouldContinueProcessing(result);
      found.nextPrompt = this.buildNextPrompt(result);
    }
    return found;
  }

  private async executeToolCall(toolCall: ToolCall, tools: readonly Tool[]): Promise<ToolResult> {
    const tool = tools.find((each) => each.name === toolCall.name);
    if (!tool) throw new Error(`no tool ${toolCall.name}`);
    const given = await tool.invoke(toolCall, NOBODY_STOPS_IT);
    const of = { callId: toolCall.id, name: toolCall.name };
    if (typeof given === "string") return { ...of, text: given, result: given };
    if (!(given instanceof ToolOutput)) throw new Error(`no result: ${given}`);
    const { result, requiresFollowUp } = given;
    const text = typeof result === "string" ? result : JSON.stringify(result);
    return { ...of, text, result, requiresFollowUp };
  }

  private async processAIResponseChunk(
    chunk: ResponseChunk,
    tracker: PartsTracker,
    callbacks: ProcessParams,
  ): Promise<void> {
    if (chunk.content) {
      await callbacks.onChunk?.(chunk.content);
      await this.told(tracker.addText(chunk.content), tracker, callbacks);
    }
    for (const piece of chunk.calls) {
      await this.told(tracker.addPiece(piece, this.#newId), tracker, callbacks);
    }
  }

  private async told(
    events: Iterable<PartEvent> | AsyncIterable<PartEvent>,
    tracker: PartsTracker,
    callbacks: ProcessParams,
  ): Promise<void> {
    for await (const event of events) {
      await callbacks.onPartEvent?.(event);
      await callbacks.onPartsChange?.(tracker.snapshot);
      if (event.state === "ready") await callbacks.onToolCall?.(tracker.callAt(event.place));
    }
  }
}
