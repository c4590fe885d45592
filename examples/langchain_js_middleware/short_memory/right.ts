/** The same by `trimMessages`, which is told to count messages and not tokens. */
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
      });
      return handler({ ...request, messages });
    },
  });
}
