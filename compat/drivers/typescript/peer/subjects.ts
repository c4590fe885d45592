/**
 * Subjects: a user's own extensions, loaded into a driver of their engine.
 *
 * What was built of the user's files stands in the folder that is named on the command
 * line; `subject` says which file of it, and what it exports.
 */
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { use } from "../world/world.ts";
import { Harness } from "./harness.ts";
import type { Params } from "./peer.ts";

/** A mistake in what a user's file exports or returns. */
export class SubjectError extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Where an error of a user's code arose. */
export interface Place {
  hook?: string;
  of?: string;
  tool?: string;
  call_id?: string;
}

/** What a subject is: the function that makes it, and what it is called. */
export interface Subject {
  name: string;
  make: () => unknown;
}

/** What is meant where no name is given: this, or the default, or the only function. */
const USUAL = ["subject", "default"];

/** Loads a subject; the module runs now. */
export async function loadSubject(file: string, name: string): Promise<Subject> {
  use((method, params) => Harness.current().ofSubject(method, params));
  const place = path.resolve(process.argv[2] ?? ".", file);
  const module = (await import(pathToFileURL(place).href)) as Record<string, unknown>;
  const found = name || nameIn(module);
  const make = module[found];
  if (make === undefined) throw noSuch(module, found);
  if (typeof make !== "function") throw new SubjectError("not-callable", `${found} is ${kindOf(make)}, no function`);
  return { name: found, make: make as () => unknown };
}

function nameIn(module: Record<string, unknown>): string {
  const functions = Object.keys(module).filter((each) => typeof module[each] === "function");
  const usual = USUAL.find((each) => each in module);
  return usual ?? (functions.length === 1 ? (functions[0] as string) : "subject");
}

function noSuch(module: Record<string, unknown>, name: string): SubjectError {
  const names = Object.keys(module);
  const there = names.length ? `it exports ${names.join(", ")}` : "it exports nothing: write a function that returns your extensions";
  return new SubjectError("missing-name", `there is no export ${name}; ${there}`);
}

/** Says in a few words what a value is. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return `a ${typeof value}`;
  const keys = Object.keys(value);
  return keys.length ? `an object of ${keys.slice(0, 5).join(", ")}` : "an object of nothing";
}

const places = new WeakMap<object, Place>();

/** Finds where an error of a user's code arose, if it is one. */
export function placeOf(error: unknown): Place | undefined {
  return error instanceof Object ? places.get(error) : undefined;
}

/** Returns what the class of an error is called. */
export function nameOf(error: Error): string {
  return error.name === "Error" ? error.constructor.name : error.name;
}

/** What one agent's subject has, and what of it is entered. */
export class Watch {
  readonly hooks: string[] = [];
  /** Names of its extensions that its author chose. */
  readonly names: string[] = [];
  /** Its own tools, and what they take as a JSON schema. */
  readonly tools: { name: string; parameters: object }[] = [];
  readonly #harness: Harness;

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  /** Returns a hook that tells when it is entered, and notes where its errors arose. */
  hook<A extends unknown[], R>(name: string, place: Place, own: (...given: A) => R): (...given: A) => R {
    this.hooks.push(name);
    return (...given) => {
      this.#harness.entered(name);
      return blamed(place, () => own(...given));
    };
  }

  /** Notes what is not a function and acts all the same: it counts as entered once. */
  set(name: string): void {
    this.hooks.push(name);
    this.#harness.entered(name);
  }

  /** Notes a tool that the subject has from the beginning: it counts as entered when it runs. */
  own(name: string, parameters: object): void {
    this.hooks.push(`tools.${name}`);
    this.tools.push({ name, parameters });
  }

  /** Runs a tool of the subject's own, and tells what it does. */
  tool(name: string, args: string, callId: string, own: () => unknown): Promise<unknown> {
    const tell = (kind: string, data: Params) => this.#harness.ofSubject("tool_run", { kind, data });
    if (this.tools.some((each) => each.name === name)) this.#harness.entered(`tools.${name}`);
    return this.#harness.calling(callId, async () => {
      await tell("tool_start", { name, arguments: args, mode: "invoke", implementation: `the subject's: ${name}` });
      try {
        const result = await blamed({ tool: name, call_id: callId }, own);
        await tell("tool_end", { result: typeof result === "string" ? result : (JSON.stringify(result) ?? "") });
        return result;
      } catch (error) {
        await tell("tool_error", { error: error instanceof Error ? nameOf(error) : typeof error });
        throw error;
      }
    });
  }
}

/** Calls a user's function; notes of its error where it arose. The first note counts. */
function blamed<R>(place: Place, call: () => R): R {
  const note = (error: unknown): never => {
    if (error instanceof Object && !places.has(error)) places.set(error, place);
    throw error;
  };
  try {
    const result = call();
    return result instanceof Promise ? (result.catch(note) as R) : result;
  } catch (error) {
    return note(error);
  }
}
