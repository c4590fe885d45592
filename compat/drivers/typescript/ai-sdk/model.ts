/** The harness's model as the AI SDK has one, and handlers as its middleware. */
import type { MessageTold } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import type { Params } from "../peer/peer.ts";
import type { Messages } from "./messages.ts";
import { type Answered, type Asked, type Middleware, type Model, type Prompt, answerOf, answered, infosOf, modelOf, withTools } from "./version.ts";

/** Returns a model that answers with what the harness's says. */
export function harnessModel(harness: Harness, told: Messages): Model {
  return modelOf(async (asked) => {
    const answer = await harness.answer(told.tell(asked.prompt), infosOf(asked));
    return answered(answer, told.heard(answer));
  });
}

/** Returns a handler's wrapper of model calls as a middleware. */
export function wrapModel(harness: Harness, told: Messages, handler: number): Middleware {
  return {
    async wrapGenerate({ params, model }) {
      const given = { messages: told.tell(params.prompt), tools: infosOf(params), streaming: false };
      let inner: { message: string; result: Answered } | undefined;
      const left = await harness.around(handler, "wrap_model_call", given, async (next) => {
        const result = await model.doGenerate(passed(params, next, told));
        const message = answerOf(result);
        inner = { message: JSON.stringify(message), result };
        return message as unknown as Params;
      });
      const answer = left as unknown as MessageTold;
      const result = answered(answer, told.heard(answer));
      const same = inner && JSON.stringify(answerOf(result)) === inner.message;
      return same && inner ? inner.result : result;
    },
  };
}

/** Returns what a wrapper hands on. */
function passed(params: Asked, next: Params, told: Messages): Asked {
  const asked = { ...params, prompt: told.read(next["messages"]) as Prompt };
  const names: string[] | undefined = next["tools"];
  return names ? withTools(asked, names) : asked;
}
