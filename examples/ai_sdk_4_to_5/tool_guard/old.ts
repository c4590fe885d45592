/** Takes the tools away from the model once it has called three. */
import type { StepResult, ToolSet } from "ai";

const CALLS = 3;

export function subject() {
  return {
    maxSteps: 10,
    experimental_prepareStep: async ({ steps }: { steps: StepResult<ToolSet>[] }) => {
      const calls = steps.flatMap((each) => each.toolCalls);
      return calls.length >= CALLS ? { experimental_activeTools: [] } : undefined;
    },
  };
}
