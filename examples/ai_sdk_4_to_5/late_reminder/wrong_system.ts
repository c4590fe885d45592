/** Says it as `system`, which takes the place of the instruction for that step. */
import { type ModelMessage, stepCountIs } from "ai";

export function subject() {
  return {
    prepareStep: async ({ messages }: { messages: ModelMessage[] }) =>
      messages.at(-1)?.role === "tool" ? { system: "Answer in one sentence." } : undefined,
    stopWhen: stepCountIs(10),
  };
}
