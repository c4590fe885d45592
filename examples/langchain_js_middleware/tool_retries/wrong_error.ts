/** Has the error come out in the end, and the run with it. */
import { toolRetryMiddleware } from "langchain";

export function subject() {
  return toolRetryMiddleware({
    maxRetries: 2,
    initialDelayMs: 0,
    onFailure: "error",
  });
}
