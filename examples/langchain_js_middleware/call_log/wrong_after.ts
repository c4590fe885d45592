/** Writes it down once the model has answered, and not at all where it fails. */
import { createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "CallLog",
    async wrapModelCall(request, handler) {
      const answer = await handler(request);
      await world.effect("asking", { messages: request.messages.length });
      return answer;
    },
  });
}
