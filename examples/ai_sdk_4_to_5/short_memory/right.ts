/** Sends the model the system's message and the newest four others. */
import { type LanguageModelMiddleware, stepCountIs } from "ai";

const NEWEST = 4;

export function subject() {
  const middleware: LanguageModelMiddleware = {
    async transformParams({ params }) {
      const rules = params.prompt.filter((each) => each.role === "system");
      const others = params.prompt.filter((each) => each.role !== "system");
      return { ...params, prompt: [...rules, ...others.slice(-NEWEST)] };
    },
  };
  return { middleware, stopWhen: stepCountIs(10) };
}
