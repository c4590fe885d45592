/** Has what is left begin with the user, as examples of `trimMessages` do: a long round of calls is lost. */
import { trimMessages } from "@langchain/core/messages";
import { createMiddleware } from "langchain";

const NEWEST = 4;

export function subject() {
  return createMiddleware({
    name: "ShortMemory",
    wrapModelCall: async (request, handler) => {
      const messages = await trimMessages(request.messages, {
        maxTokens: NEWEST,
        tokenCounter: (counted) => counted.length,
        strategy: "last",
        startOn: "human",
      });
      return handler({ ...request, messages });
    },
  });
}
