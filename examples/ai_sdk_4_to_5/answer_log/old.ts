/** Writes down what the model answers. */
import type { LanguageModelV1Middleware } from "ai";
import { world } from "refengine/world";

export function subject() {
  const middleware: LanguageModelV1Middleware = {
    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate();
      const calls = (result.toolCalls ?? []).map((call) => call.toolName);
      await world.effect("answered", { text: result.text ?? "", calls });
      return result;
    },
  };
  return middleware;
}
