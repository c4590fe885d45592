/** What is of the AI SDK 6 alone, of all that 5 and later ones have. */
export { USAGE, play, reasonOf } from "./unified.ts";

export const PROFILE = "ai-sdk-6";
/** What this version has beside what all of them have. */
export const MORE = ["return_directly"];
/** The setting that hears of a step when it is over. */
export const STEP_END = "onStepFinish";
export const SPECIFICATION = "v3";

/** Returns settings that a run has in this version alone. */
export function settingsOfRun(_: { sequential: boolean }): object {
  return { allowSystemInMessages: true }; // or each such message is warned of
}
