/**
 * What surrounds an agent while refengine checks it.
 *
 *     import { world } from "refengine/world";
 *
 * Code that is checked tells by `effect` what leaves the agent, and takes time and ids from
 * here, so that they are the same in every run. Where nothing is checked, `effect` does
 * nothing, `now` is the time of the machine and `newId` draws one.
 */
import { randomUUID } from "node:crypto";

/** Asks the harness. */
export type Call = (method: string, params: Record<string, unknown>) => Promise<Record<string, any>>;

let current: Call | undefined;

/** Has this module speak with a harness. Drivers use it. */
export function use(call: Call): void {
  current = call;
}

export const world = {
  /**
   * Tells what was done outside of the agent: a line of a log, a question to a person, a
   * metric. The data are what JSON makes of them. What the agent does next comes after it,
   * whether it is awaited or not.
   */
  effect(name: string, data: unknown = null): Promise<void> {
    const told = current?.("effect", { name, ...asJson(data) }).then(() => {});
    told?.catch(() => {}); // the check says what was wrong with it
    return told ?? Promise.resolve();
  },

  /** Returns the time on the clock of the session, which begins at 1 January 1970. */
  async now(): Promise<Date> {
    const said = await current?.("now", {});
    return said ? new Date(said["seconds"] * 1000) : new Date();
  },

  /** Returns an id that no other call returns in this session. */
  async newId(): Promise<string> {
    return (await current?.("new_id", {}))?.["id"] ?? randomUUID();
  },
};

/** Returns data as they stand in a frame, or why they are not JSON. */
function asJson(data: unknown): { data: unknown } | { wrong: string } {
  try {
    const text: string | undefined = JSON.stringify(data);
    return text === undefined ? { wrong: `a ${typeof data} is not JSON` } : { data: JSON.parse(text) };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}
