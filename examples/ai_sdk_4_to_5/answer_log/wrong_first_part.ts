/** Takes the first part for the answer. */
import type { LanguageModelMiddleware } from "ai";
import { world } from "refengine/world";

export function subject() {
  const middleware: LanguageModelMiddleware = {
    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate();
      const [first] = result.content;
      const text = first?.type === "text" ? first.text : "";
      const calls = first?.type === "tool-call" ? [first.toolName] : [];
      await world.effect("answered", { text, calls });
      return result;
    },
  };
  return middleware;
}
