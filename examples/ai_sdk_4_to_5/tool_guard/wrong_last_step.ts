/** Counts the calls of the last step, and not those of all. */
import { type StepResult, type ToolSet, stepCountIs } from "ai";

const CALLS = 3;

export function subject() {
  return {
    stopWhen: stepCountIs(10),
    prepareStep: async ({ steps }: { steps: StepResult<ToolSet>[] }) => {
      const calls = steps.at(-1)?.toolCalls ?? [];
      return calls.length >= CALLS ? { activeTools: [] } : undefined;
    },
  };
}
