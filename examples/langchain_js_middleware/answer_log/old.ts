/** Writes down what the model answers: how long its text is, and which tools it calls. */
import { AIMessage, createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "AnswerLog",
    async afterModel(state) {
      const last = state.messages.at(-1);
      if (!AIMessage.isInstance(last)) return;
      await world.effect("answered", { length: last.text.length, calls: (last.tool_calls ?? []).map((call) => call.name) });
    },
  });
}
