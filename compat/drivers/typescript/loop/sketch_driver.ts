/** The driver of the loop as decision record 001 sketches it. */
import type { NewId } from "./parts.ts";
import { serve } from "./serving.ts";
import { SketchedAISystem } from "./sketch.ts";
import type { Model } from "./loop.ts";

/** The sketch with another step that makes the next prompt. */
class Prompting extends SketchedAISystem {
  readonly #prompt: string;

  constructor(model: Model, newId: NewId, prompt: string) {
    super(model, newId);
    this.#prompt = prompt;
  }

  protected override buildNextPrompt(): string {
    return this.#prompt;
  }
}

// It has no history, no instruction, no limits, no status, and nobody to tell of errors.
const about = {
  engine: "typescript-loop-sketch",
  profile: "loop-adr",
  capabilities: ["loops", "prompts", "parts"],
};

await serve(about, (_, prompt, { model, newId }) => {
  const id = newId as NewId;
  if (prompt === null) return new SketchedAISystem(model, id);
  return new Prompting(model, id, prompt);
});
