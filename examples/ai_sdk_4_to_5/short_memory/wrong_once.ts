/** Cuts what the first call is sent: what tools bring makes the later ones longer. */
import { type LanguageModelMiddleware, stepCountIs } from "ai";

const NEWEST = 4;

export function subject() {
  let called = false;
  const middleware: LanguageModelMiddleware = {
    async transformParams({ params }) {
      if (called) return params;
      called = true;
      const rules = params.prompt.filter((each) => each.role === "system");
      const others = params.prompt.filter((each) => each.role !== "system");
      return { ...params, prompt: [...rules, ...others.slice(-NEWEST)] };
    },
  };
  return { middleware, stopWhen: stepCountIs(10) };
}
