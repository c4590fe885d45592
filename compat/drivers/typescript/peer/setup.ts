/**
 * A setup: a module of a user's that turns an observer on, before anything of the side is
 * loaded. Node has to run this first (`--import`), so that it finds each module as it is.
 *
 * `REFENGINE_SETUP` names the file; with an empty one the side is plain, and has the doors of
 * an observed one. What a setup prints is no frame, what it sends is refused as is all that
 * connects, and it may start no process and replace nothing by which the side is played.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

import { SHARED, sharePackages } from "./sharing.ts";

/** What is told of a setup: what is wrong with it, what it changed, which spans it has seen. */
export interface SetupSeen {
  fault?: string;
  /** Which packages it finds here before its own. */
  shared: string[];
  home: string;
  changed: number;
  spans: number;
}

type Called = (this: unknown, ...given: unknown[]) => unknown;
type Functions = Record<string, unknown>;

/** Where OpenTelemetry's API, whichever copy of it, keeps what was registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
/** What the side itself goes by, under names that a user knows. */
const NEEDED = ["process.stdin", "process.stdout", "setTimeout", "setImmediate", "queueMicrotask", "Date.now", "Promise"];
/** Modules of Node's whose functions observers change. */
const BUILTINS = ["node:http", "node:https", "node:fs", "node:net", "node:async_hooks", "node:timers"];
const STARTS = "starts a process, which no session could end";

const require = createRequire(import.meta.url);
const HERE = { shared: SHARED, home: fileURLToPath(new URL("../..", import.meta.url)) };
const file = process.env["REFENGINE_SETUP"];

/** What is seen of the setup of this process; none if it has none. */
export const seen: SetupSeen | undefined = file ? { ...HERE, changed: 0, spans: 0 } : undefined;

if (file !== undefined) refuseConnections();
if (file && seen) await setUp(file, seen);

function refuseConnections(): void {
  const why = Object.assign(new Error("connect ECONNREFUSED: no side reaches the network"), { code: "ECONNREFUSED" });
  Socket.prototype.connect = function (this: Socket) {
    process.nextTick(() => this.destroy(why));
    return this;
  };
}

async function setUp(path: string, into: SetupSeen): Promise<void> {
  for (const each of ["log", "info", "debug", "dir", "table"] as const) console[each] = console.error; // the output is for frames
  const needed = NEEDED.map(valueOf);
  const before = around();
  const names = new Set(Object.getOwnPropertyNames(globalThis));
  const started = withoutProcesses();
  sharePackages();
  try {
    await import(pathToFileURL(path).href);
  } catch (error) {
    into.fault = `fails: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}${lineIn(path, error)}`;
  }
  if (started()) into.fault = STARTS;
  const taken = NEEDED.find((each, at) => valueOf(each) !== needed[at]);
  if (taken !== undefined) into.fault = `replaces ${taken}, by which the side is played`;
  const after = around();
  const changed = [...before].filter(([name, value]) => after.get(name) !== value);
  const added = Object.getOwnPropertyNames(globalThis).filter((each) => !names.has(each));
  into.changed = changed.length + added.length;
  countSpans(into);
}

function valueOf(name: string): unknown {
  return name.split(".").reduce((from: any, key) => from[key], globalThis);
}

/** Returns the functions that are everybody's: of the language, and of Node's modules. */
function around(): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const places: [string, object][] = [["", globalThis], ...BUILTINS.map((each): [string, object] => [each, require(each) as object])];
  for (const [place, of] of places) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of))) {
      // What Node makes when it is first asked for is no change: it has no value before.
      if (typeof value === "function") found.set(`${place} ${name}`, value);
    }
  }
  return found;
}

/** Has no process started until it is asked whether one was to be. */
function withoutProcesses(): () => boolean {
  const made = require("node:child_process") as Functions & { ChildProcess: { prototype: Functions } };
  let was = false;
  const refuse: Called = () => {
    was = true;
    throw new Error("a setup starts no process");
  };
  const plain = { spawnSync: made["spawnSync"], execFileSync: made["execFileSync"], execSync: made["execSync"] };
  const spawn = made.ChildProcess.prototype["spawn"];
  Object.assign(made, { spawnSync: refuse, execFileSync: refuse, execSync: refuse });
  made.ChildProcess.prototype["spawn"] = refuse;
  syncBuiltinESMExports();
  return () => {
    Object.assign(made, plain);
    made.ChildProcess.prototype["spawn"] = spawn;
    syncBuiltinESMExports();
    return was;
  };
}

/** Counts the spans that begin from now on, of all tracers of the provider that is registered. */
function countSpans(into: SetupSeen): void {
  const provider = (globalThis as any)[REGISTERED]?.trace;
  const tracer = provider?.getDelegate?.().getTracer("refengine");
  const kind = tracer && Object.getPrototypeOf(tracer);
  const plain = kind?.startSpan as Called | undefined;
  if (plain === undefined) return;
  kind.startSpan = function (...given: unknown[]) {
    const span = plain.apply(this, given) as { isRecording?: () => boolean };
    if (span.isRecording?.()) into.spans += 1;
    return span;
  };
}

/** Returns the last line of a setup's own that an error came through. */
function lineIn(path: string, error: unknown): string {
  const { href } = pathToFileURL(path);
  const lines = (error instanceof Error && error.stack ? error.stack : "").split("\n");
  const at = lines.map((each) => each.split(href)[1]?.match(/^:(\d+)/)?.[1]).find((each) => each !== undefined);
  return at === undefined ? "" : ` (line ${at})`;
}
