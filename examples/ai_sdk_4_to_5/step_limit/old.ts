/** Lets a run take three steps, and tells what each of them was. */
import type { StepResult, ToolSet } from "ai";
import { world } from "refengine/world";

export function subject() {
  return {
    maxSteps: 3,
    async onStepFinish(step: StepResult<ToolSet>) {
      await world.effect("step", { reason: step.finishReason, calls: step.toolCalls.length });
    },
  };
}
