/** Counts the system's messages with the others, so that they go as well. */
import { type LanguageModelMiddleware, stepCountIs } from "ai";

const NEWEST = 4;

export function subject() {
  const middleware: LanguageModelMiddleware = {
    async transformParams({ params }) {
      return { ...params, prompt: params.prompt.slice(-NEWEST) };
    },
  };
  return { middleware, stopWhen: stepCountIs(10) };
}
