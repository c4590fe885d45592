/** Writes down what each call of the model is about to be sent. */
import { createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "CallLog",
    async beforeModel(state) {
      await world.effect("asking", { messages: state.messages.length });
    },
  });
}
