/** The same before each step: the instruction is not among its messages. */
import { type ModelMessage, stepCountIs } from "ai";

const NEWEST = 4;

export function subject() {
  return {
    stopWhen: stepCountIs(10),
    prepareStep({ messages }: { messages: ModelMessage[] }) {
      const rules = messages.filter((each) => each.role === "system");
      const others = messages.filter((each) => each.role !== "system");
      return { messages: [...rules, ...others.slice(-NEWEST)] };
    },
  };
}
