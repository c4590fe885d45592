/** Takes the tools away from the model once three were called in a run: it counts as they run. */
import { createMiddleware } from "langchain";

const CALLS = 3;

export function subject() {
  let calls = 0;
  return createMiddleware({
    name: "ToolGuard",
    beforeAgent: () => {
      calls = 0;
    },
    wrapToolCall: (request, handler) => {
      calls += 1;
      return handler(request);
    },
    wrapModelCall: (request, handler) => handler(calls >= CALLS ? { ...request, tools: [] } : request),
  });
}
