/** What goes wrong in a loop, one class a cause; the message says what to do. */

export type WarningKind = "empty_prompt" | "callback_failed";

/** An error of the loop itself; `kind` is a stable name for it. */
export class LoopError extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.name = new.target.name;
    this.kind = kind;
  }
}

export class IterationLimit extends LoopError {
  constructor(got: unknown) {
    super("iteration_limit", `maxIterations: ${got}: give a whole number of at least 1`);
  }
}

export class RoundTimedOut extends LoopError {
  constructor(round: number, seconds: number) {
    super("round_timed_out", `round ${round} took over ${seconds} s: raise roundSeconds`);
  }
}

export class ToolTimedOut extends LoopError {
  constructor(name: string, seconds: number) {
    super("tool_timed_out", `tool '${name}' took over ${seconds} s: raise toolSeconds`);
  }
}

export class ToolMissing extends LoopError {
  constructor(name: string, known: readonly string[]) {
    const there = known.join(", ") || "none";
    super("tool_missing", `no tool '${name}': give one of that name; there is ${there}`);
  }
}

export class NoToolOutput extends LoopError {
  constructor(name: string, got: unknown) {
    super("tool_output", `tool '${name}' gave ${got}: return a text, or a ToolOutput`);
  }
}

export class TooManyCalls extends LoopError {
  constructor(name: string, most: number) {
    super("too_many_calls", `call of '${name}': at most ${most} a round: raise callsPerRound`);
  }
}

export class ArgumentsTooLong extends LoopError {
  constructor(name: string, length: number, most: number) {
    const long = `${length} characters of arguments, at most ${most}`;
    super("arguments_too_long", `call of '${name}': ${long}: raise argumentChars`);
  }
}

export class ResultTooLong extends LoopError {
  constructor(name: string, length: number, most: number) {
    const long = `a result of ${length} characters, at most ${most}`;
    super("result_too_long", `tool '${name}': ${long}: raise resultChars`);
  }
}

/** Returns whatever was thrown as an error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
