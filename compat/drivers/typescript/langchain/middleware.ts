import { AIMessage, type BaseMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";

import type { ConfigTold, MessageTold } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import type { Params } from "../peer/peer.ts";
import type { Messages } from "./messages.ts";
import { infosOf } from "./model.ts";
import type { HarnessTool } from "./tools.ts";

type Hooks = Omit<Parameters<typeof createMiddleware>[0], "name">;
type WrapModel = NonNullable<Hooks["wrapModelCall"]>;
type WrapTool = NonNullable<Hooks["wrapToolCall"]>;
interface State {
  messages: BaseMessage[];
}

/** Return a middleware that brings tools, which is all that a struct can do here. */
export function structMiddleware(name: string, tools: HarnessTool[]): AgentMiddleware {
  return createMiddleware({ name, tools });
}

/** Return a middleware with the hooks that a handler has, and no other. */
export function middlewareOf(
  harness: Harness,
  told: Messages,
  config: ConfigTold,
  at: number,
  name: string,
): AgentMiddleware {
  const hooks = new Handler(harness, told, config, at);
  const made: Hooks = {};
  for (const each of config.handlers[at] ?? []) {
    switch (each) {
      case "before_agent":
        made.beforeAgent = () => hooks.beforeAgent();
        break;
      case "before_model_rewrite_history":
        made.beforeModel = (state) => hooks.rewrite(each, state as State);
        break;
      case "after_model_rewrite_history":
        made.afterModel = (state) => hooks.rewrite(each, state as State);
        break;
      case "after_agent":
        made.afterAgent = (state) => hooks.afterAgent(state as State);
        break;
      case "wrap_model_call":
        made.wrapModelCall = (request, handler) => hooks.wrapModel(request, handler);
        break;
      case "wrap_invokable_tool_call":
        made.wrapToolCall = (request, handler) => hooks.wrapTool(request, handler);
        break;
    }
  }
  return createMiddleware({ name, ...made });
}

class Handler {
  private readonly harness: Harness;
  private readonly told: Messages;
  private readonly config: ConfigTold;
  private readonly at: number;

  constructor(harness: Harness, told: Messages, config: ConfigTold, at: number) {
    this.harness = harness;
    this.told = told;
    this.config = config;
    this.at = at;
  }

  /** Show it the configuration; what it edits there has no place, and is declined. */
  async beforeAgent(): Promise<void> {
    const { instruction, structs } = this.config;
    const tools = [...this.config.tools, ...structs.flatMap((each) => each.tools)];
    await this.harness.hook(this.at, "before_agent", { instruction, tools, return_directly: {} });
  }

  async rewrite(hook: string, state: State): Promise<{ messages: BaseMessage[] } | undefined> {
    const messages = this.told.tellAll(state.messages);
    const got = await this.harness.hook(this.at, hook, { messages });
    const left = this.told.readAll(got.messages);
    const same = left.length === state.messages.length && left.every((each, at) => each === state.messages[at]);
    return same ? undefined : { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...left] };
  }

  async afterAgent(state: State): Promise<void> {
    await this.harness.hook(this.at, "after_agent", { messages: this.told.tellAll(state.messages) });
  }

  async wrapModel(...[request, handler]: Parameters<WrapModel>): Promise<AIMessage> {
    const system = request.systemMessage.text === "" ? [] : [request.systemMessage];
    const given = {
      messages: this.told.tellAll([...system, ...request.messages]),
      tools: infosOf(request.tools),
      streaming: false,
    };
    const answer = await this.harness.around(this.at, "wrap_model_call", given, async (next) => {
      const passed = this.passed(request, next);
      const response = await this.harness.within(next.ctx, () => handler(passed));
      return this.told.tell(response as AIMessage) as unknown as Params;
    });
    return this.told.read(answer as unknown as MessageTold) as AIMessage;
  }

  /** Return a request with what a wrapper hands on. */
  private passed(request: Parameters<WrapModel>[0], next: Params): typeof request {
    const messages = this.told.readAll(next.messages);
    const [first] = messages;
    const system = SystemMessage.isInstance(first) ? first : undefined;
    const passed = { ...request, messages: system ? messages.slice(1) : messages };
    if (system !== request.systemMessage && (system || request.systemMessage.text !== "")) {
      passed.systemMessage = system ?? new SystemMessage("");
    }
    const names: string[] | undefined = next.tools;
    if (!names) return passed;
    const known = new Map(request.tools.map((each) => [(each as HarnessTool).name, each]));
    const tools = names.flatMap((each) => known.get(each) ?? []);
    return { ...passed, tools: tools as typeof request.tools };
  }

  async wrapTool(...[request, handler]: Parameters<WrapTool>): Promise<ToolMessage> {
    const call = this.told.tellCall(request.toolCall);
    const given = { name: call.name, arguments: call.arguments, call_id: call.id };
    let inner: ToolMessage | undefined;
    const got = await this.harness.around(this.at, "wrap_invokable_tool_call", given, async (next) => {
      inner = undefined;
      const args = this.told.passArguments(next.arguments);
      const toolCall = { ...request.toolCall, id: next.call_id, name: next.name, args };
      inner = (await handler({ ...request, toolCall })) as ToolMessage;
      return { result: inner.text };
    });
    if (inner === undefined) {
      return new ToolMessage({ content: got.result, tool_call_id: call.id, name: call.name });
    }
    if (inner.text === got.result) return inner;
    const { tool_call_id, name = call.name, status = "success", additional_kwargs } = inner;
    return new ToolMessage({ content: got["result"], tool_call_id, name, status, additional_kwargs });
  }
}
