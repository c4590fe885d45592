/** What is of the AI SDK 7 alone, of all that 5 and later ones have. */
export { USAGE, play, reasonOf } from "./unified.ts";

export const PROFILE = "ai-sdk-7";
/** What this version has beside what all of them have. */
export const MORE = ["return_directly", "sequential"];
/** The setting that hears of a step when it is over. */
export const STEP_END = "onStepEnd";
export const SPECIFICATION = "v4";

/** Returns settings that a run has in this version alone. */
export function settingsOfRun({ sequential }: { sequential: boolean }): object {
  // Without leave a message of the system in a history ends the run before it begins.
  return { allowSystemInMessages: true, ...(sequential ? { toolCallConcurrency: 1 } : {}) };
}
