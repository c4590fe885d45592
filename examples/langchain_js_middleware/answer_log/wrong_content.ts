/** Writes down the calls as the model's vendor has them, which is another place. */
import { AIMessage, createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "AnswerLog",
    async wrapModelCall(request, handler) {
      const answer = await handler(request);
      if (AIMessage.isInstance(answer)) {
        const calls = (answer.additional_kwargs.tool_calls ?? []).map((call) => call.function.name);
        await world.effect("answered", { length: answer.text.length, calls });
      }
      return answer;
    },
  });
}
