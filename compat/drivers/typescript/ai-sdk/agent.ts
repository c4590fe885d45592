/** An agent: one call of `generateText`, or of `streamText`, a run, which goes on until its steps are over. */
import type { Agent } from "../peer/driver.ts";
import type { ConfigTold, EventTold, MessageTold, RunAsked } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import { Pushed } from "../peer/streams.ts";
import { Messages } from "./messages.ts";
import { harnessModel, wrapModel } from "./model.ts";
import type { Chunk, Played, Step } from "./playing.ts";
import { OpenAnswer } from "./streams.ts";
import { type Own, NONE, before } from "./subject.ts";
import { type Message, NOTHING, generated, isNothing, toolOf, unknownTool } from "./version.ts";

/** The steps of a run are over, and its last calls were for a model that is not asked. */
export class StepsOver extends Error {}

/** The model called a tool that does not exist. */
export class UnknownTool extends Error {}

/** The model would be sent calls without results, whose ids the text names. */
export class UnansweredCalls extends Error {}

/** Returns an error of the SDK's as the harness is told of it. */
function told(error: unknown): unknown {
  const tool = unknownTool(error);
  if (tool !== undefined) return new UnknownTool(`tool ${tool} not found`, { cause: error });
  const { name, toolCallIds = [] } = error as { name?: unknown; toolCallIds?: string[] };
  // Since 6; its class is exported by those versions alone.
  return name === "AI_MissingToolResultsError" ? new UnansweredCalls(toolCallIds.join(", "), { cause: error }) : error;
}

export class TextAgent implements Agent {
  readonly #harness: Harness;
  readonly #config: ConfigTold;
  readonly #told = new Messages();
  readonly #own: Own;
  readonly #played: Pick<Played, "model" | "middleware" | "tools" | "direct" | "sequential">;
  /** The answer of a run that streams. */
  #open: OpenAnswer | undefined;
  /** Ends it, where tools wait for that. */
  #ending: Promise<void> | undefined;

  constructor(harness: Harness, config: ConfigTold, own: Own = NONE) {
    if (config.max_iterations < 1) throw new Error("no fewer than 1 step can be asked for");
    this.#harness = harness;
    this.#config = config;
    this.#own = own;
    this.#played = {
      model: harnessModel(harness, this.#told),
      middleware: this.#with("wrap_model_call").map((at) => wrapModel(harness, this.#told, at)),
      tools: before(() => this.#answered(), { ...this.#toolSet(), ...own.tools }),
      direct: Object.entries(config.return_directly).flatMap(([name, is]) => (is ? [name] : [])),
      sequential: config.sequential,
    };
  }

  #with(hook: string): number[] {
    return [...this.#config.handlers.keys()].filter((at) => this.#config.handlers[at]?.includes(hook));
  }

  #toolSet(): Record<string, unknown> {
    const named = this.#config.tools.map((spec) => [
      spec.name,
      toolOf(spec.description, async (input, callId) => {
        const call = this.#told.tellCall(callId, spec.name, input);
        const result = await this.#harness.tool(spec.tool, callId, call.arguments);
        return this.#own === NONE ? result : this.#told.given(callId, result);
      }),
    ]);
    return Object.fromEntries(named) as Record<string, unknown>;
  }

  /** Has the consumer read the answer that a tool is called by: 4 calls it within the stream, 5 behind it. */
  async #answered(): Promise<void> {
    const open = this.#open;
    // One for all calls of the answer, so that they go on in its order.
    this.#ending ??= open && this.#harness.quiet().then(() => open.end());
    await this.#ending;
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
    const { instruction, max_iterations: steps } = this.#config;
    const messages = this.#told.read(asked.messages);
    let taken = 0;
    let called: string[] = [];
    const finished = (step: Step) => {
      taken += 1;
      called = this.#finished(step, events);
    };
    this.#ending = undefined;
    this.#open = asked.stream ? this.#opened(events) : undefined;
    const said = this.#open && ((chunk: Chunk) => this.#open?.put({ message: this.#chunk(chunk) }));
    const own = { own: this.#own, instruction, steps, signal, finished, said };
    const given = messages.length ? messages : [NOTHING];
    const prepare = (sent: Message[]) => this.#prepare(sent);
    try {
      await generated({ ...this.#played, ...own, messages: given, prepare });
    } catch (error) {
      this.#open?.fail(error);
      throw told(error);
    }
    const isOver = taken >= steps && !called.some((each) => this.#played.direct.includes(each));
    if (called.length && isOver) throw new StepsOver("the steps of the run are over");
  }

  #opened(events: Pushed): OpenAnswer {
    const { name } = this.#config;
    return new OpenAnswer((chunks) => events.put({ name, role: "assistant", stream: this.#harness.streams.offer(chunks) }));
  }

  #chunk(chunk: Chunk): Partial<MessageTold> {
    if (typeof chunk === "string") return { content: chunk };
    return { tool_calls: [this.#told.tellCall(chunk.id, chunk.name, chunk.input)] };
  }

  /** Lets the handlers rewrite what is sent, for this step alone. */
  async #prepare(given: Message[]): Promise<Message[] | undefined> {
    const hook = "before_model_rewrite_history";
    const kept = given.filter((each) => !isNothing(each));
    const told = this.#told.tell(kept);
    let messages = told;
    for (const at of this.#with(hook)) {
      messages = (await this.#harness.hook(at, hook, { messages }))["messages"];
    }
    if (messages !== told) return this.#told.read(messages);
    return kept.length === given.length ? undefined : kept;
  }

  /** Tells what a step brought, and returns the names of the tools it called. */
  #finished(step: Step, events: Pushed): string[] {
    const told = this.#told.tell(step.results);
    const message = this.#told.tell([step.said])[0] as MessageTold;
    const { tool_calls: calls = [] } = message;
    const ids = new Set(calls.map((each) => each.id));
    const { name } = this.#config;
    this.#ending = undefined;
    if (this.#open) this.#open.next();
    else events.put({ name, role: "assistant", message });
    for (const each of told.slice(told.length - calls.length)) {
      if (!ids.has(each.tool_call_id ?? "")) continue;
      events.put({ name, role: "tool", message: each, call_id: each.tool_call_id });
    }
    return calls.map((each) => each.name);
  }
}
