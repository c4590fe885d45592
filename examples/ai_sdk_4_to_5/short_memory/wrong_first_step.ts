/** Prepares the first step alone: what tools bring makes the later ones longer. */
import { type ModelMessage, stepCountIs } from "ai";

const NEWEST = 4;

export function subject() {
  return {
    stopWhen: stepCountIs(10),
    prepareStep({ messages, stepNumber }: { messages: ModelMessage[]; stepNumber: number }) {
      if (stepNumber > 0) return {};
      const rules = messages.filter((each) => each.role === "system");
      const others = messages.filter((each) => each.role !== "system");
      return { messages: [...rules, ...others.slice(-NEWEST)] };
    },
  };
}
