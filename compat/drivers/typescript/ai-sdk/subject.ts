/**
 * What a user's own subject gives to `generateText` or `streamText`: a middleware of models,
 * several, or settings as they stand in a call of it, with `middleware` beside them.
 */
import type { Returned } from "../peer/driver.ts";
import { type Place, SubjectError, type Watch, kindOf } from "../peer/subjects.ts";
import { type Middleware, schemaOf } from "./version.ts";

export interface Own {
  /** Its settings, without what stands below. */
  settings: Record<string, unknown>;
  /** Its middleware of models, the outermost first. */
  middleware: Middleware[];
  /** Its own tools, by name. */
  tools: Record<string, unknown>;
  /** Whether it gives no settings, so that a run has as many steps as the world says. */
  isBare: boolean;
}

/** No subject. */
export const NONE: Own = { settings: {}, middleware: [], tools: {}, isBare: true };

type Wrapped = (...given: never[]) => unknown;
interface OwnTool {
  parameters?: unknown;
  inputSchema?: unknown;
  execute?: (input: unknown, options: { toolCallId: string }) => unknown;
}

/** Functions of a middleware that are looked at, and the hook that each of them is. */
const MIDDLEWARE = { transformParams: "before_model_rewrite_history", wrapGenerate: "wrap_model_call", wrapStream: "wrap_model_call" } as const;
/** Functions among the settings; the last ones are of `streamText` alone. */
const SETTINGS = [
  ...["prepareStep", "experimental_prepareStep", "onStepFinish", "experimental_repairToolCall"],
  ...["repairToolCall", "onStart", "onStepStart", "onStepEnd", "onStepError", "onEnd"],
  ...["onLanguageModelCallStart", "onLanguageModelCallEnd", "onToolExecutionStart", "onToolExecutionEnd"],
  ...["experimental_onStart", "experimental_onStepStart", "experimental_onToolCallStart", "experimental_onToolCallFinish"],
  ...["onChunk", "onError", "onFinish", "onAbort", "experimental_transform"],
];
/** Settings that act without being called. */
const SET = [
  ...["instructions", "toolApproval", "toolOrder", "toolCallConcurrency"],
  ...["maxSteps", "stopWhen", "system", "experimental_activeTools", "activeTools", "toolChoice"],
  ...["maxTokens", "maxOutputTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"],
  ...["stopSequences", "seed", "providerOptions", "headers"],
];
/** What the world gives. */
const WORLDS = ["model", "messages", "prompt", "abortSignal", "maxRetries"];
const INSTEAD = "return a middleware, a list of them, or settings of generateText";

/** Takes what a subject returned apart, and has each of its functions watched. */
export function ownOf({ name, value, watch }: Returned): Own {
  if (isMiddleware(value)) return { ...NONE, middleware: [watched(watch, value, 0)] };
  if (Array.isArray(value)) return { ...NONE, middleware: allWatched(watch, name, value) };
  if (typeof value !== "object" || value === null) throw wrong(`${name} returns ${kindOf(value)}: ${INSTEAD}`);
  const { middleware = [], tools = {}, ...settings } = value as Record<string, unknown>;
  const taken = WORLDS.find((each) => each in settings);
  if (taken !== undefined) throw wrong(`${name} returns ${taken}, which the world gives: leave it out`);
  return {
    settings: { ...settings, ...functions(watch, settings) },
    middleware: allWatched(watch, name, [middleware].flat()),
    tools: ownTools(watch, tools as Record<string, OwnTool>),
    isBare: false,
  };
}

function wrong(text: string): SubjectError {
  return new SubjectError("wrong-result", text);
}

function isMiddleware(value: unknown): value is Middleware {
  return typeof value === "object" && value !== null && ["transformParams", "wrapGenerate", "wrapStream"].some((each) => each in value);
}

function allWatched(watch: Watch, name: string, several: unknown[]): Middleware[] {
  return several.map((each, at) => {
    if (!isMiddleware(each)) throw wrong(`${name} returns ${kindOf(each)} as a middleware: it needs transformParams or wrapGenerate`);
    return watched(watch, each, at);
  });
}

function watched(watch: Watch, own: Middleware, at: number): Middleware {
  const made: Record<string, unknown> = { ...own };
  for (const [key, hook] of Object.entries(MIDDLEWARE)) {
    const of = `middleware[${at}]`;
    hooked(watch, own as Record<string, unknown>, made, key, `${of}.${key}`, { hook, of });
  }
  return made as Middleware;
}

function functions(watch: Watch, settings: Record<string, unknown>): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const key of SETTINGS) hooked(watch, settings, made, key, key, { hook: key, of: "settings" });
  for (const key of SET) {
    if (settings[key] !== undefined) watch.set(key);
  }
  return made;
}

/** Puts a function that is watched in its own's place. */
function hooked(watch: Watch, from: Record<string, unknown>, into: Record<string, unknown>, key: string, name: string, place: Place): void {
  const own = from[key];
  if (own === undefined) return;
  if (Array.isArray(own)) {
    const several = Object.fromEntries(own.map((each, at) => [`${name}[${at}]`, each as unknown]));
    const made: Record<string, unknown> = {};
    for (const each of Object.keys(several)) hooked(watch, several, made, each, each, place);
    into[key] = Object.values(made);
    return;
  }
  if (typeof own !== "function") throw wrong(`${name} is ${kindOf(own)}, no function`);
  into[key] = watch.hook(name, place, (own as Wrapped).bind(from));
}

/** Returns tools of which each does something before it is called. */
export function before(first: () => Promise<void>, tools: Record<string, unknown>): Record<string, unknown> {
  const named = Object.entries(tools as Record<string, OwnTool>).map(([name, own]) => {
    const { execute } = own;
    if (!execute) return [name, own];
    const run: OwnTool["execute"] = async (input, options) => {
      await first();
      return execute.call(own, input, options);
    };
    return [name, { ...own, execute: run }];
  });
  return Object.fromEntries(named) as Record<string, unknown>;
}

function ownTools(watch: Watch, tools: Record<string, OwnTool>): Record<string, unknown> {
  const named = Object.entries(tools).map(([name, own]) => {
    const { execute } = own;
    if (!execute) {
      watch.set(`tools.${name}`);
      return [name, own];
    }
    watch.own(name, schemaOf(own));
    const run = (input: unknown, options: { toolCallId: string }) =>
      watch.tool(name, JSON.stringify(input), options.toolCallId, () => execute.call(own, input, options));
    return [name, { ...own, execute: run }];
  });
  return Object.fromEntries(named) as Record<string, unknown>;
}
