/** The driver of the loop. */
import { BaseAISystem, LinearAISystem, type SystemOptions, type ToolResult } from "./loop.ts";
import { serve } from "./serving.ts";

/** A loop whose own step makes the next prompt. */
class Prompting extends BaseAISystem {
  readonly #prompt: string;

  constructor(options: SystemOptions, prompt: string) {
    super(options);
    this.#prompt = prompt;
  }

  protected override buildNextPrompt(_: ToolResult): string {
    return this.#prompt;
  }
}

const about = {
  engine: "typescript-loop",
  profile: "loop-safe",
  capabilities: [
    ...["loops", "linear", "history", "instruction", "prompts", "parts"],
    ...["status", "errors", "limits", "logs", "cancellation"],
  ],
};

await serve(about, (form, prompt, options) => {
  if (form === "linear") return new LinearAISystem(options);
  return prompt === null ? new BaseAISystem(options) : new Prompting(options, prompt);
});
