/** Takes the hook of a run for that of a call: later calls are not written down. */
import { createMiddleware } from "langchain";
import { world } from "refengine/world";

export function subject() {
  return createMiddleware({
    name: "CallLog",
    async beforeAgent(state) {
      await world.effect("asking", { messages: state.messages.length });
    },
  });
}
