/** The callbacks of a call: those of the record, and who hears of a failure and of the end. */
import { errorOf, type WarningKind } from "./errors.ts";
import type { LoopResult, ToolResult } from "./loop.ts";
import type { PartEvent, PartsSnapshot, ToolCall } from "./parts.ts";

type Callback<Facts extends unknown[]> = (...facts: Facts) => void | Promise<void>;

/** What is told while a response comes; what is not there costs nothing. */
export interface ResponseCallbacks {
  /** Each piece of text, as it came. */
  onChunk?: Callback<[chunk: string]>;
  /** A call whose arguments are complete. */
  onToolCall?: Callback<[toolCall: ToolCall]>;
  /** What became of a call, in the order of the calls. */
  onToolResult?: Callback<[toolResult: ToolResult]>;
  /** Each change of a part. */
  onPartEvent?: Callback<[event: PartEvent]>;
  /** All parts after a change; a view that makes them when it is read. */
  onPartsChange?: Callback<[parts: PartsSnapshot]>;
  /** An error, and where it came from: a callback's name, or `round`. */
  onError?: Callback<[error: Error, where: string]>;
  /** How it ended, once, whatever happened. */
  onEnd?: Callback<[result: LoopResult]>;
}

export type CallbackName = Exclude<keyof ResponseCallbacks, "onError">;

/** Calls callbacks; one that throws is told to onError and ends nothing. */
export class Telling {
  readonly #callbacks: ResponseCallbacks;
  readonly #warn: (kind: WarningKind, text: string) => void;

  constructor(callbacks: ResponseCallbacks, warn: (kind: WarningKind, text: string) => void) {
    this.#callbacks = callbacks;
    this.#warn = warn;
  }

  hears(name: CallbackName): boolean {
    return this.#callbacks[name] !== undefined;
  }

  async tell<Name extends CallbackName>(
    name: Name,
    ...facts: Parameters<Required<ResponseCallbacks>[Name]>
  ): Promise<void> {
    const callback = this.#callbacks[name] as Callback<unknown[]> | undefined;
    try {
      await callback?.(...facts);
    } catch (error) {
      await this.failed(errorOf(error), name);
    }
  }

  /** Tells of an error, once; an error of that callback becomes a warning. */
  async failed(error: Error, where: string): Promise<void> {
    try {
      await this.#callbacks.onError?.(error, where);
    } catch (raised) {
      this.#warn("callback_failed", `onError threw ${raised} when told of ${error}`);
    }
  }
}
