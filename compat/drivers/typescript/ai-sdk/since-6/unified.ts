/** What the AI SDK has since 6: agents, and models whose reasons and usage have two sides. */
import { ToolLoopAgent, type ToolLoopAgentSettings } from "ai";

import type { Given } from "./version.ts";

export const USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export function reasonOf<Why extends string>(why: Why): { unified: Why; raw: undefined } {
  return { unified: why, raw: undefined };
}

/** Plays a run of no user's own settings: an agent generates, which is a call of `generateText`. */
export async function play({ messages = [], abortSignal, system, ...settings }: Given): Promise<void> {
  const agent = new ToolLoopAgent({ ...settings, instructions: system } as unknown as ToolLoopAgentSettings);
  await agent.generate({ messages, ...(abortSignal ? { abortSignal } : {}) });
}
