/** Sends the model the newest four messages, and keeps all of them. */
import { createMiddleware } from "langchain";

const NEWEST = 4;

export function subject() {
  return createMiddleware({
    name: "ShortMemory",
    wrapModelCall: (request, handler) => handler({ ...request, messages: request.messages.slice(-NEWEST) }),
  });
}
