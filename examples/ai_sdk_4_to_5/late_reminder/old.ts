/** Reminds the model, where it is sent what tools brought, of how to answer. */
import type { LanguageModelV1Middleware } from "ai";

export function subject() {
  const middleware: LanguageModelV1Middleware = {
    async transformParams({ params }) {
      if (params.prompt.at(-1)?.role !== "tool") return params;
      const reminder = { role: "user" as const, content: [{ type: "text" as const, text: "Answer in one sentence." }] };
      return { ...params, prompt: [...params.prompt, reminder] };
    },
  };
  return { middleware, maxSteps: 10 };
}
