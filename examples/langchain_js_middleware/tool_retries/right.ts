/** The same by the middleware that LangChain has for it. */
import { toolRetryMiddleware } from "langchain";

export function subject() {
  return toolRetryMiddleware({
    maxRetries: 2,
    initialDelayMs: 0,
    onFailure: (error) => `It did not work: ${error.message}`,
  });
}
