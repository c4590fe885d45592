/** Counts what the last answer called, and not what all of them did. */
import { AIMessage, createMiddleware } from "langchain";

const CALLS = 3;

export function subject() {
  return createMiddleware({
    name: "ToolGuard",
    wrapModelCall: (request, handler) => {
      const answer = request.messages.findLast((each) => AIMessage.isInstance(each));
      const calls = AIMessage.isInstance(answer) ? (answer.tool_calls ?? []) : [];
      return handler(calls.length >= CALLS ? { ...request, tools: [] } : request);
    },
  });
}
