/** Stops when three steps are about to be taken, and not when they were. */
import { type StepResult, type ToolSet } from "ai";
import { world } from "refengine/world";

export function subject() {
  return {
    stopWhen: ({ steps }: { steps: StepResult<ToolSet>[] }) => steps.length + 1 >= 3,
    async onStepFinish(step: StepResult<ToolSet>) {
      await world.effect("step", { reason: step.finishReason, calls: step.toolCalls.length });
    },
  };
}
