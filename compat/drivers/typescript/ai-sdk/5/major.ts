/** What is of the AI SDK 5 alone, of all that it and later ones have. */
import { generateText } from "ai";

import type { Given } from "./version.ts";

export const PROFILE = "ai-sdk-5";
/** What this version has beside what all of them have. */
export const MORE = ["return_directly"];
/** The setting that hears of a step when it is over. */
export const STEP_END = "onStepFinish";
export const SPECIFICATION = "v2";
export const USAGE = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };

export function reasonOf<Why extends string>(why: Why): Why {
  return why;
}

/** Returns settings that a run has in this version alone. */
export function settingsOfRun(_: { sequential: boolean }): object {
  return {};
}

/** Plays a run of no user's own settings. */
export async function play(given: Given): Promise<void> {
  await generateText(given as unknown as Parameters<typeof generateText>[0]);
}
