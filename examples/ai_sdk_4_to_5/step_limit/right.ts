/** Lets a run take three steps, and tells what each of them was. */
import { type StepResult, type ToolSet, stepCountIs } from "ai";
import { world } from "refengine/world";

export function subject() {
  return {
    stopWhen: stepCountIs(3),
    async onStepFinish(step: StepResult<ToolSet>) {
      await world.effect("step", { reason: step.finishReason, calls: step.toolCalls.length });
    },
  };
}
