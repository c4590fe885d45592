/** Looks at the last message of the request, which is the answer before this one. */
import { AIMessage, createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "AnswerLog",
    async wrapModelCall(request, handler) {
      const answer = await handler(request);
      const last = request.messages.at(-1);
      if (AIMessage.isInstance(last)) {
        await world.effect("answered", { length: last.text.length, calls: (last.tool_calls ?? []).map((call) => call.name) });
      }
      return answer;
    },
  });
}
