/** An agent: one call of `generateText` a run, which goes on until its steps are over. */
import { type ModelMessage, type StepResult, type ToolSet, dynamicTool, generateText, hasToolCall, jsonSchema, stepCountIs, wrapLanguageModel } from "ai";

import type { Agent } from "../peer/driver.ts";
import type { ConfigTold, EventTold, MessageTold, RunAsked } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import { Pushed } from "../peer/streams.ts";
import { Messages } from "./messages.ts";
import { type Model, harnessModel, wrapModel } from "./model.ts";

/**
 * Stands where the harness gives no message at all, which `generateText` refuses; it is
 * taken out again before the model, and before hooks.
 */
const NOTHING: ModelMessage = { role: "user", content: "" };

/** The steps of a run are over, and its last calls were for a model that is not asked. */
export class StepsOver extends Error {}

export class TextAgent implements Agent {
  readonly #harness: Harness;
  readonly #config: ConfigTold;
  readonly #told = new Messages();
  readonly #model: Model;
  readonly #tools: ToolSet;
  readonly #direct: string[];

  constructor(harness: Harness, config: ConfigTold) {
    if (config.max_iterations < 1) throw new Error("stepCountIs takes no fewer than 1: it would never hold");
    this.#harness = harness;
    this.#config = config;
    const wraps = this.#with("wrap_model_call").map((at) => wrapModel(harness, this.#told, at));
    const model = harnessModel(harness, this.#told);
    this.#model = wraps.length ? wrapLanguageModel({ model, middleware: wraps }) : model;
    this.#tools = this.#toolSet();
    this.#direct = Object.entries(config.return_directly).flatMap(([name, is]) => (is ? [name] : []));
  }

  #with(hook: string): number[] {
    return [...this.#config.handlers.keys()].filter((at) => this.#config.handlers[at]?.includes(hook));
  }

  #toolSet(): ToolSet {
    const named = this.#config.tools.map((spec) => [
      spec.name,
      dynamicTool({
        description: spec.description,
        inputSchema: jsonSchema({ type: "object", properties: {} }),
        execute: (input, { toolCallId }) => {
          const call = this.#told.tellCall(toolCallId, spec.name, input);
          return this.#harness.tool(spec.tool, toolCallId, call.arguments);
        },
      }),
    ]);
    return Object.fromEntries(named) as ToolSet;
  }

  async *run(asked: RunAsked, signal: AbortSignal): AsyncGenerator<EventTold> {
    const events = new Pushed();
    const ended = this.#generate(asked, signal, events).then(
      () => events.end(),
      (error: unknown) => events.fail(error),
    );
    for await (const each of events) yield each as EventTold;
    await ended;
  }

  async #generate(asked: RunAsked, signal: AbortSignal, events: Pushed): Promise<void> {
    const { instruction, max_iterations } = this.#config;
    const messages = this.#told.read(asked.messages) as ModelMessage[];
    const { steps } = await generateText({
      model: this.#model,
      ...(instruction ? { system: instruction } : {}),
      messages: messages.length ? messages : [NOTHING],
      ...(Object.keys(this.#tools).length ? { tools: this.#tools } : {}),
      stopWhen: [stepCountIs(max_iterations), ...this.#direct.map(hasToolCall)],
      prepareStep: (step) => this.#prepare(step.messages),
      onStepFinish: (step) => this.#finished(step, events),
      maxRetries: 0,
      abortSignal: signal,
    });
    const calls = steps.at(-1)?.toolCalls ?? [];
    const direct = calls.some((each) => this.#direct.includes(each.toolName));
    if (calls.length && !direct) throw new StepsOver("the steps of the run are over");
  }

  /** Lets the handlers rewrite what is sent, for this step alone. */
  async #prepare(given: ModelMessage[]): Promise<{ messages?: ModelMessage[] }> {
    const hook = "before_model_rewrite_history";
    const kept = given.filter((each) => !isNothing(each));
    const told = this.#told.tell(kept);
    let messages = told;
    for (const at of this.#with(hook)) {
      messages = (await this.#harness.hook(at, hook, { messages }))["messages"];
    }
    if (messages !== told) return { messages: this.#told.read(messages) as ModelMessage[] };
    return kept.length === given.length ? {} : { messages: kept };
  }

  #finished(step: StepResult<ToolSet>, events: Pushed): void {
    const told = this.#told.tell(step.response.messages.filter((each) => each.role === "tool"));
    const calls = step.content.filter((each) => each.type === "tool-call");
    const ids = new Set(calls.map((each) => each.toolCallId));
    const [text] = step.content.filter((each) => each.type === "text");
    const answer = this.#told.tell([
      {
        role: "assistant",
        content: [
          ...(text ? [{ type: "text" as const, text: step.text, ...optionsOf(text) }] : []),
          ...calls.map((each) => ({ ...each, type: "tool-call" as const })),
        ],
      },
    ])[0] as MessageTold;
    const { name } = this.#config;
    events.put({ name, role: "assistant", message: answer });
    for (const message of told.slice(told.length - calls.length)) {
      if (!ids.has(message.tool_call_id ?? "")) continue;
      events.put({ name, role: "tool", message, call_id: message.tool_call_id });
    }
  }
}

function optionsOf(part: { providerMetadata?: unknown }): object {
  return part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata };
}

function isNothing(message: ModelMessage): boolean {
  return message.role === "user" && message.content === "";
}
