/** The loop's values as they stand in frames, and back. */
import type { FailureData } from "../peer/peer.ts";
import * as plain from "../peer/world.ts";
import type { WireCall, WireGiven } from "../peer/world.ts";
import { LoopError } from "./errors.ts";
import { ToolOutput } from "./loop.ts";
import type { Limits } from "./limits.ts";
import type { LoopResult, ToolResult } from "./loop.ts";
import type { PartEvent } from "./parts.ts";

export function givenRead({ result, output }: WireGiven): unknown {
  return output === undefined ? result : new ToolOutput(output.result, output.requires_follow_up);
}

export function callTold({ id, name, arguments: given }: WireCall): WireCall {
  return { id, name, arguments: given };
}

export function partTold({ callId, ...rest }: PartEvent): object {
  return { ...rest, call_id: callId };
}

export function resultTold({ callId, name, text, error }: ToolResult): object {
  return { call_id: callId, name, text, ...(error && { error: errorTold(error) }) };
}

export function endTold({ text, status, rounds, parts, history }: LoopResult): object {
  const told = { parts: [...parts].map(partTold), history: history.map(plain.messageTold) };
  return { text, status, rounds, ...told };
}

export function errorTold(error: Error): object {
  return { message: error.message, data: dataOf(error) };
}

/** Returns whose an error is: the harness's by its number, the loop's own by its kind. */
export function dataOf(error: unknown): FailureData {
  return error instanceof LoopError ? { kind: error.kind } : plain.dataOf(error);
}

export function limitsRead(told: Record<string, number>): Limits {
  const names: Record<string, keyof Limits> = {
    round_seconds: "roundSeconds",
    tool_seconds: "toolSeconds",
    calls_per_round: "callsPerRound",
    argument_chars: "argumentChars",
    result_chars: "resultChars",
  };
  return Object.fromEntries(Object.entries(told).map(([key, each]) => [names[key], each]));
}
