/** The harness's model as the AI SDK has one, and handlers as its middleware. */
import type { wrapLanguageModel } from "ai";

import type { MessageTold } from "../peer/frames.ts";
import type { Harness, InfoTold } from "../peer/harness.ts";
import type { Params } from "../peer/peer.ts";
import type { Messages } from "./messages.ts";

export type Model = Parameters<typeof wrapLanguageModel>[0]["model"];
export type Middleware = Exclude<Parameters<typeof wrapLanguageModel>[0]["middleware"], readonly unknown[]>;
type Asked = Parameters<Model["doGenerate"]>[0];
type Answered = Awaited<ReturnType<Model["doGenerate"]>>;
export type Prompt = Asked["prompt"];
export type Part = Answered["content"][number];

const USAGE = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };

/** Returns a model that answers with what the harness's says. */
export function harnessModel(harness: Harness, told: Messages): Model {
  return {
    specificationVersion: "v2",
    provider: "refengine",
    modelId: "refengine",
    supportedUrls: {},
    async doGenerate({ prompt, tools }) {
      return answered(told.parts(await harness.answer(told.tell(prompt), infosOf(tools))));
    },
    doStream() {
      throw new Error("runs that stream are declined");
    },
  };
}

function answered(content: Part[]): Answered {
  const calls = content.some((each) => each.type === "tool-call");
  return { content, finishReason: calls ? "tool-calls" : "stop", usage: USAGE, warnings: [] };
}

/** Returns a handler's wrapper of model calls as a middleware. */
export function wrapModel(harness: Harness, told: Messages, handler: number): Middleware {
  return {
    async wrapGenerate({ params, model }) {
      const given = { messages: told.tell(params.prompt), tools: infosOf(params.tools), streaming: false };
      let inner: { message: string; result: Answered } | undefined;
      const left = await harness.around(handler, "wrap_model_call", given, async (next) => {
        const result = await model.doGenerate(passed(params, next, told));
        const message = told.answer(result.content);
        inner = { message: JSON.stringify(message), result };
        return message as unknown as Params;
      });
      const answer = told.parts(left as unknown as MessageTold);
      const same = inner && JSON.stringify(told.answer(answer)) === inner.message;
      return same && inner ? inner.result : answered(answer);
    },
  };
}

/** Returns what a wrapper hands on. */
function passed(params: Asked, next: Params, told: Messages): Asked {
  const asked = { ...params, prompt: told.read(next["messages"]) };
  const names: string[] | undefined = next["tools"];
  const { tools } = params;
  if (!names || !tools) return asked;
  return { ...asked, tools: names.flatMap((name) => tools.filter((each) => each.name === name)) };
}

function infosOf(tools: Asked["tools"] = []): InfoTold[] {
  return tools.map((each) => ({
    name: each.name,
    description: each.type === "function" ? (each.description ?? "") : "",
  }));
}
