/** Trims the state before the model is called, as the documentation shows: what is left out is gone. */
import { RemoveMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { createMiddleware } from "langchain";

const NEWEST = 4;

export function subject() {
  return createMiddleware({
    name: "ShortMemory",
    beforeModel: (state) => ({
      messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...state.messages.slice(-NEWEST)],
    }),
  });
}
