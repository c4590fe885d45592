/** Sets `systemPrompt`, which takes the place of what the agent is told anyway. */
import { createMiddleware } from "langchain";

const LONG = 3;

export function subject() {
  return createMiddleware({
    name: "DynamicPrompt",
    wrapModelCall: (request, handler) => {
      const systemPrompt = request.messages.length > LONG ? " Be brief." : " Take your time.";
      return handler({ ...request, systemPrompt });
    },
  });
}
