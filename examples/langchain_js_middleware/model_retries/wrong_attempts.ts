/** Takes `maxRetries` for the number of attempts. */
import { modelRetryMiddleware } from "langchain";

export function subject() {
  return modelRetryMiddleware({ maxRetries: 3, onFailure: "error", initialDelayMs: 0 });
}
