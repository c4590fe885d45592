/** Counts all results that there are, those of earlier turns as well. */
import { ToolMessage, createMiddleware } from "langchain";

const CALLS = 3;

export function subject() {
  return createMiddleware({
    name: "ToolGuard",
    wrapModelCall: (request, handler) => {
      const results = request.messages.filter((each) => ToolMessage.isInstance(each));
      return handler(results.length >= CALLS ? { ...request, tools: [] } : request);
    },
  });
}
