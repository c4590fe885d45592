/** Keeps `maxSteps`, which nobody reads any more: a run has one step. */
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
