/** Takes `maxRetries` for the number of attempts. */
import { toolRetryMiddleware } from "langchain";

export function subject() {
  return toolRetryMiddleware({
    maxRetries: 3,
    initialDelayMs: 0,
    onFailure: (error) => `It did not work: ${error.message}`,
  });
}
