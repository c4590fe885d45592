/** The harness's model as the AI SDK has one, and handlers as its middleware. */
import type { MessageTold, Piece } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import type { Params } from "../peer/peer.ts";
import type { Messages } from "./messages.ts";
import { heard, readable } from "./streams.ts";
import {
  type Answered,
  type Asked,
  type Middleware,
  type Model,
  type Prompt,
  type Streamed,
  answerOf,
  answered,
  infosOf,
  modelOf,
  partsOf,
  piecesOf,
  settingsOf,
  streamed,
  withTools,
} from "./version.ts";

/** Returns a model that answers with what the harness's says. */
export function harnessModel(harness: Harness, told: Messages): Model {
  const whole = async (asked: Asked) => {
    const answer = await harness.answer(told.tell(asked.prompt), infosOf(asked), settingsOf(asked));
    return answered(answer, told.heard(answer));
  };
  const inChunks = async (asked: Asked) => {
    const pieces = await harness.answering(told.tell(asked.prompt), infosOf(asked), settingsOf(asked));
    return streamOf(pieces, told);
  };
  return modelOf(whole, inChunks);
}

function streamOf(pieces: AsyncIterable<Piece>, told: Messages): Streamed {
  return streamed(readable(partsOf(heard(pieces), (whole) => told.heard(whole))));
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
    async wrapStream({ params, model }) {
      const given = { messages: told.tell(params.prompt), tools: infosOf(params), streaming: true };
      const left = await harness.around(handler, "wrap_model_call", given, async (next) => {
        const { stream } = await model.doStream(passed(params, next, told));
        return { stream: harness.streams.offer(piecesOf(stream)) };
      });
      return streamOf(piecesLeft(harness, left), told);
    },
  };
}

/** Yields what a wrapper answers with: chunks, or a message as the only one. */
async function* piecesLeft(harness: Harness, left: Params): AsyncGenerator<Piece> {
  if (left["stream"] === undefined) yield { message: left as Partial<MessageTold> };
  else yield* harness.chunks(left["stream"]);
}

/** Returns what a wrapper hands on. */
function passed(params: Asked, next: Params, told: Messages): Asked {
  const asked = { ...params, prompt: told.read(next["messages"]) as Prompt };
  const names: string[] | undefined = next["tools"];
  return names ? withTools(asked, names) : asked;
}
