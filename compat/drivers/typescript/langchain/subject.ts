/** What a user's own subject gives to `createAgent`: a middleware, or several. */
import type { StructuredTool, ToolRunnableConfig } from "@langchain/core/tools";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import type { AgentMiddleware } from "langchain";

import type { Returned } from "../peer/driver.ts";
import type { Harness } from "../peer/harness.ts";
import { type Place, SubjectError, type Watch, kindOf } from "../peer/subjects.ts";
import { HarnessTool } from "./tools.ts";

type Function = (...given: never[]) => unknown;
type Parts = Record<string, unknown> & { name: string };
interface Called {
  toolCall?: { id?: string };
  tool?: StructuredTool;
}

/** The hooks of a middleware, and how the harness calls them. */
const HOOKS = {
  beforeAgent: "before_agent",
  beforeModel: "before_model_rewrite_history",
  afterModel: "after_model_rewrite_history",
  afterAgent: "after_agent",
  wrapModelCall: "wrap_model_call",
  wrapToolCall: "wrap_invokable_tool_call",
} as const;

/** A user's middleware, and which hooks each of them has. */
export interface Own {
  middleware: AgentMiddleware[];
  hooks: string[];
  /** Whether one of them has a state of its own, which a thread keeps. */
  keeps: boolean;
}

/** No subject. */
export const NONE: Own = { middleware: [], hooks: [], keeps: false };

/** Names what the harness has beside a subject as nothing else is called, since `createAgent` takes each name once. */
export function besides(own: Own): (name: string) => string {
  if (own === NONE) return (name) => name;
  const taken = new Set(own.middleware.map((each) => each.name));
  return (name) => {
    let free = name;
    while (taken.has(free)) free += "'";
    taken.add(free);
    return free;
  };
}

/** Takes what a subject returned, and has each of its hooks watched. */
export function ownOf(harness: Harness, { name, value, watch }: Returned): Own {
  const several: unknown[] = Array.isArray(value) ? value : [value];
  const own: Own = { middleware: [], hooks: [], keeps: false };
  for (const each of several) {
    if (!isMiddleware(each)) {
      const what = `${name} returns ${kindOf(each)}`;
      throw new SubjectError("wrong-result", `${what}: return what createMiddleware makes, or a list of it`);
    }
    own.middleware.push(watched(harness, watch, each));
    own.keeps ||= each["stateSchema"] !== undefined;
    own.hooks.push(...Object.entries(HOOKS).flatMap(([key, hook]) => (each[key] ? [hook] : [])));
  }
  return own;
}

function isMiddleware(value: unknown): value is Parts {
  if (typeof value !== "object" || value === null || !("name" in value)) return false;
  return Object.keys(HOOKS).some((each) => each in value) || "tools" in value;
}

function watched(harness: Harness, watch: Watch, own: Parts): AgentMiddleware {
  const made: Record<string, unknown> = { ...own };
  watch.names.push(own.name);
  for (const [key, hook] of Object.entries(HOOKS)) {
    const found = own[key] as Function | { hook: Function } | undefined;
    if (!found) continue;
    const place = { hook, of: own.name };
    const put = (call: Function) => hooked(harness, watch, `${own.name}.${key}`, place, call);
    made[key] = typeof found === "function" ? put(found.bind(own)) : { ...found, hook: put(found.hook) };
  }
  if (Array.isArray(own["tools"])) {
    made["tools"] = own["tools"].map((each) => ownTool(watch, each as StructuredTool));
  }
  return made as unknown as AgentMiddleware;
}

/** Returns a hook that is watched; one around a call of a tool knows which, and may bring a tool for it. */
function hooked(harness: Harness, watch: Watch, name: string, place: Place, own: Function): Function {
  const call = watch.hook(name, place, own);
  if (place.hook !== HOOKS.wrapToolCall) return call;
  return (...given) => {
    const [request, handler] = given as unknown as [Called, (next: Called) => unknown];
    const inner = (next: Called) => handler(next.tool === request.tool || !next.tool ? next : { ...next, tool: toldTool(watch, next.tool) });
    return harness.calling(request.toolCall?.id ?? "", () => (call as (...most: unknown[]) => unknown)(request, inner));
  };
}

/** Returns a tool that is watched, if it is of a kind that can be. */
function ownTool(watch: Watch, own: StructuredTool): unknown {
  const told = toldTool(watch, own);
  if (told !== own) watch.own(own.name, toJsonSchema(own.schema));
  return told;
}

const TOLD = new WeakSet<object>();

/** Returns the very tool, but that it tells what it does. */
function toldTool(watch: Watch, own: StructuredTool): StructuredTool {
  const inner = own as unknown as { _call: unknown };
  if (own instanceof HarnessTool || TOLD.has(own) || typeof inner._call !== "function") return own;
  const run = inner._call.bind(own) as (...given: unknown[]) => unknown;
  const call = (...given: [unknown, unknown, ToolRunnableConfig?]) =>
    watch.tool(own.name, JSON.stringify(given[0]), given[2]?.toolCall?.id ?? "", () => run(...given));
  const told = Object.create(own, { _call: { value: call } }) as StructuredTool;
  TOLD.add(told);
  return told;
}
