/** Sends the model the system's message and the newest four others. */
import type { LanguageModelV1Middleware } from "ai";

const NEWEST = 4;

export function subject() {
  const middleware: LanguageModelV1Middleware = {
    async transformParams({ params }) {
      const rules = params.prompt.filter((each) => each.role === "system");
      const others = params.prompt.filter((each) => each.role !== "system");
      return { ...params, prompt: [...rules, ...others.slice(-NEWEST)] };
    },
  };
  return { middleware, maxSteps: 10 };
}
