/** Reminds it at every step, of which the first has nothing of a tool. */
import { type ModelMessage, stepCountIs } from "ai";

export function subject() {
  return {
    prepareStep: async ({ messages }: { messages: ModelMessage[] }) => ({
      messages: [...messages, { role: "user" as const, content: "Answer in one sentence." }],
    }),
    stopWhen: stepCountIs(10),
  };
}
