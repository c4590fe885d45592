/** The same without a count of its own: results behind the user's last message are those of the run. */
import { HumanMessage, ToolMessage, createMiddleware } from "langchain";

const CALLS = 3;

export function subject() {
  return createMiddleware({
    name: "ToolGuard",
    wrapModelCall: (request, handler) => {
      const from = request.messages.findLastIndex((each) => HumanMessage.isInstance(each));
      const results = request.messages.slice(from + 1).filter((each) => ToolMessage.isInstance(each));
      return handler(results.length >= CALLS ? { ...request, tools: [] } : request);
    },
  });
}
