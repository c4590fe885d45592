/** Does not say `onFailure: "error"`: the run goes on, with the error for an answer. */
import { modelRetryMiddleware } from "langchain";

export function subject() {
  return modelRetryMiddleware({ maxRetries: 2, initialDelayMs: 0 });
}
