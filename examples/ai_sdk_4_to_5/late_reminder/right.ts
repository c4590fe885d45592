/** The same before each step, whose messages are sent and not kept. */
import { type ModelMessage, stepCountIs } from "ai";

export function subject() {
  return {
    prepareStep: async ({ messages }: { messages: ModelMessage[] }) => {
      if (messages.at(-1)?.role !== "tool") return undefined;
      return { messages: [...messages, { role: "user" as const, content: "Answer in one sentence." }] };
    },
    stopWhen: stepCountIs(10),
  };
}
