/** Writes it down around the call: what the handler returns is the answer. */
import { AIMessage, createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "AnswerLog",
    async wrapModelCall(request, handler) {
      const answer = await handler(request);
      if (AIMessage.isInstance(answer)) {
        await world.effect("answered", { length: answer.text.length, calls: (answer.tool_calls ?? []).map((call) => call.name) });
      }
      return answer;
    },
  });
}
