/** Leaves the text to the middleware, which names the tool and the class of the error. */
import { toolRetryMiddleware } from "langchain";

export function subject() {
  return toolRetryMiddleware({
    maxRetries: 2,
    initialDelayMs: 0,
  });
}
