/** Tells the model to be brief once there is much to read, after what it is told anyway. */
import { createMiddleware } from "langchain";

const LONG = 3;

export function subject() {
  return createMiddleware({
    name: "DynamicPrompt",
    wrapModelCall: (request, handler) => {
      const told = request.messages.length > LONG ? " Be brief." : " Take your time.";
      return handler({ ...request, systemMessage: request.systemMessage.concat(told) });
    },
  });
}
