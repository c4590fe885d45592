/** Keeps the name `experimental_prepareStep`, which nobody calls any more. */
import { type StepResult, type ToolSet, stepCountIs } from "ai";

const CALLS = 3;

export function subject() {
  return {
    stopWhen: stepCountIs(10),
    experimental_prepareStep: async ({ steps }: { steps: StepResult<ToolSet>[] }) => {
      const calls = steps.flatMap((each) => each.toolCalls);
      return calls.length >= CALLS ? { activeTools: [] } : undefined;
    },
  };
}
