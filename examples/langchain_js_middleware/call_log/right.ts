/** Writes it down around the call: the request has the messages that the state had. */
import { createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "CallLog",
    async wrapModelCall(request, handler) {
      await world.effect("asking", { messages: request.messages.length });
      return handler(request);
    },
  });
}
