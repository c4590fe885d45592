import { AIMessage, type AIMessageChunk, ToolMessage } from "@langchain/core/messages";
import { GraphInterrupt, INTERRUPT, isGraphInterrupt } from "@langchain/langgraph";
import { createAgent } from "langchain";

import type { Agent } from "../peer/driver.ts";
import type { ConfigTold, EventTold, RunAsked, ToolTold } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import { Pushed } from "../peer/streams.ts";
import { Messages, tellChunk } from "./messages.ts";
import { middlewareOf, structMiddleware } from "./middleware.ts";
import { HarnessModel } from "./model.ts";
import { NONE, type Own, besides } from "./subject.ts";
import { Thread } from "./thread.ts";
import { HarnessTool } from "./tools.ts";

/** Nodes of the graph that `createAgent` makes. */
const MODEL_NODE = "model_request";
const TOOLS_NODE = "tools";
const MODEL_HOOKS = ["before_model_rewrite_history", "after_model_rewrite_history"];

type Updates = Record<string, { messages?: unknown } | { messages?: unknown }[] | undefined>;

/** An agent that `createAgent` made. */
export class ReactAgent implements Agent {
  private readonly told: Messages;
  private readonly made: ReturnType<typeof createAgent>;
  private readonly steps: number;
  private readonly thread: Thread | undefined;

  private readonly harness: Harness;
  private readonly config: ConfigTold;

  constructor(harness: Harness, config: ConfigTold, own: Own = NONE) {
    this.harness = harness;
    this.config = config;
    this.told = new Messages(harness, own !== NONE);
    this.thread = own.keeps ? new Thread() : undefined;
    const free = besides(own);
    const struct = (tools: ToolTold[], at: number) => structMiddleware(free(`middleware[${at}]`), tools.map((each) => this.tool(each)));
    const handler = (name: string, at: number) => middlewareOf(harness, this.told, config, at, free(name));
    this.made = createAgent({
      model: new HarnessModel(harness, this.told),
      tools: config.tools.map((each) => this.tool(each)),
      ...(config.instruction ? { systemPrompt: config.instruction } : {}),
      ...(this.thread ? { checkpointer: this.thread.checkpointer } : {}),
      middleware: [
        ...config.structs.map(({ tools }, at) => struct(tools, at)),
        ...own.middleware,
        ...config.handler_names.map(handler),
      ],
    });
    const hooks = [...config.handlers.flat(), ...own.hooks];
    const around = hooks.filter((each) => MODEL_HOOKS.includes(each)).length;
    const before = hooks.filter((each) => each === "before_agent").length;
    this.steps = config.max_iterations * (2 + around) + before;
  }

  private tool(spec: ToolTold): HarnessTool {
    const direct = this.config.return_directly[spec.name] ?? false;
    return new HarnessTool(this.harness, this.told, spec, direct);
  }

  async *run(asked: RunAsked, signal: AbortSignal): AsyncGenerator<EventTold> {
    const history = this.told.readAll(asked.messages);
    const { messages, ...of } = this.thread?.begin(history) ?? { messages: history };
    const items = (await this.made.stream(
      { messages },
      { streamMode: asked.stream ? ["updates", "messages"] : ["updates"], recursionLimit: this.steps, signal, ...of },
    )) as AsyncIterable<[string, unknown]>;
    const open = new OpenAnswer(this.harness);
    const said: (AIMessage | ToolMessage)[] = [];
    try {
      for await (const [mode, item] of items) {
        if (mode === "messages") yield* open.take(item as [AIMessageChunk, { langgraph_node: string }], this.config.name);
        else yield* this.updated(item as Updates, open, said);
      }
      this.thread?.end(history, said);
    } catch (error) {
      open.fail(error);
      throw error;
    }
  }

  /** Tells what nodes added to the history; it is `said`, too. */
  private *updated(updates: Updates, open: OpenAnswer, said: (AIMessage | ToolMessage)[]): Generator<EventTold> {
    for (const [node, update] of Object.entries(updates)) {
      if (node === INTERRUPT) throw new GraphInterrupt();
      for (const each of [update ?? []].flat()) {
        for (const message of [each.messages ?? []].flat()) {
          if (node === MODEL_NODE && AIMessage.isInstance(message)) {
            said.push(message);
            if (!open.end()) yield this.event("assistant", message);
          } else if (node === TOOLS_NODE && ToolMessage.isInstance(message)) {
            said.push(message);
            yield { ...this.event("tool", message), call_id: message.tool_call_id };
          }
        }
      }
    }
  }

  private event(role: string, message: AIMessage | ToolMessage): EventTold {
    return { name: this.config.name, role, message: this.told.content(message) };
  }
}

/** The answer that is being streamed, if there is one. */
class OpenAnswer {
  private chunks: Pushed | undefined;

  private readonly harness: Harness;

  constructor(harness: Harness) {
    this.harness = harness;
  }

  *take([chunk, { langgraph_node }]: [AIMessageChunk, { langgraph_node: string }], name: string): Generator<EventTold> {
    if (langgraph_node !== MODEL_NODE || chunk.getType() !== "ai") return;
    if (this.chunks === undefined) {
      this.chunks = new Pushed();
      yield { name, role: "assistant", stream: this.harness.streams.offer(this.chunks) };
    }
    this.chunks.put(tellChunk(chunk));
  }

  /** Return whether there was one, which has ended now. */
  end(): boolean {
    const open = this.chunks;
    this.chunks = undefined;
    open?.end();
    return open !== undefined;
  }

  fail(error: unknown): void {
    this.chunks?.fail(error);
    this.chunks = undefined;
  }
}

/** Name what the framework says by an error of its own. */
export function kindOf(error: unknown): string {
  if (isGraphInterrupt(error)) return "interrupt";
  const name = error instanceof Error ? error.name : "";
  return name === "GraphRecursionError" ? "max_iterations" : "";
}
