/** The same by the middleware that LangChain has for it. */
import { modelRetryMiddleware } from "langchain";

export function subject() {
  return modelRetryMiddleware({ maxRetries: 2, onFailure: "error", initialDelayMs: 0 });
}
