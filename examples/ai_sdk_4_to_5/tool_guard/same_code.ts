/** Takes the tools away from the model once it has called three. */
import { type StepResult, type ToolSet, stepCountIs } from "ai";

const CALLS = 3;

export function subject() {
  return {
    stopWhen: stepCountIs(10),
    prepareStep: async ({ steps }: { steps: StepResult<ToolSet>[] }) => {
      const calls = steps.flatMap((each) => each.toolCalls);
      return calls.length >= CALLS ? { activeTools: [] } : undefined;
    },
  };
}
