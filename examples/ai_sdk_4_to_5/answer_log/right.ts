/** Writes down what the model answers: text and calls are parts of its content. */
import type { LanguageModelMiddleware } from "ai";
import { world } from "refengine/world";

export function subject() {
  const middleware: LanguageModelMiddleware = {
    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate();
      const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      const calls = result.content.flatMap((part) => (part.type === "tool-call" ? [part.toolName] : []));
      await world.effect("answered", { text, calls });
      return result;
    },
  };
  return middleware;
}
