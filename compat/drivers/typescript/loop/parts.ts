/**
 * What a streamed message is made of, as a fold over events.
 *
 * A part is a text, a call of a tool or the result of one. Its id and its place never
 * change; its text only grows, and its state only goes forward. Every change is one event,
 * and what a tracker has is what its events fold to.
 */

export type PartKind = "text" | "tool_call" | "tool_result";
export type PartState = "streaming" | "ready" | "executing" | "done" | "error";

/** One change: `text` is what was added, what is empty leaves what was said before. */
export interface PartEvent {
  readonly id: string;
  readonly place: number;
  readonly kind: PartKind;
  readonly state: PartState;
  readonly text: string;
  readonly callId: string;
  readonly name: string;
  readonly error: string;
}

/** A part as it was when it was read; `text` is all of it. */
export type Part = PartEvent;

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A piece of a call. The first of an index names it; without an index it is whole. */
export interface CallPiece extends ToolCall {
  readonly index?: number;
}

/** Makes the id of a call to which its model gave none. */
export type NewId = () => Promise<string>;

/** Returns the parts that events make, in their places. */
export function folded(events: Iterable<PartEvent>): Part[] {
  const parts: Part[] = [];
  for (const event of events) {
    const old = parts[event.place];
    parts[event.place] = {
      ...event,
      text: (old?.text ?? "") + event.text,
      callId: event.callId || (old?.callId ?? ""),
      name: event.name || (old?.name ?? ""),
      error: event.error || (old?.error ?? ""),
    };
  }
  return parts;
}

/** The parts after so many events. Making one costs nothing: it folds when it is read. */
export class PartsSnapshot implements Iterable<Part> {
  readonly #events: readonly PartEvent[];
  readonly #length: number;

  constructor(events: readonly PartEvent[]) {
    this.#events = events; // which only grow, so that the first of them stay what they are
    this.#length = events.length;
  }

  *[Symbol.iterator](): Iterator<Part> {
    yield* folded(this.#events.slice(0, this.#length));
  }
}

type Said = Partial<Pick<PartEvent, "text" | "callId" | "name" | "error">>;

/** Makes the events of a message; each is taken when it is yielded. */
export class PartsTracker {
  readonly #events: PartEvent[] = [];
  readonly #parts: PartEvent[] = []; // what holds of each, but for its text
  readonly #texts: string[] = [];
  #openText: number | undefined;
  #byIndex = new Map<number, number>();
  #calls: number[] = [];
  #roundAt = 0;

  get snapshot(): PartsSnapshot {
    return new PartsSnapshot(this.#events);
  }

  /** The calls of this round, in the order of their first piece. */
  get calls(): ToolCall[] {
    return this.#calls.map((place) => this.callAt(place));
  }

  /** What the model has said in this round. */
  get roundText(): string {
    const said = (_: string, at: number) =>
      at >= this.#roundAt && this.#parts[at].kind === "text";
    return this.#texts.filter(said).join("");
  }

  callAt(place: number): ToolCall {
    const { callId, name } = this.#parts[place];
    return { id: callId, name, arguments: this.#texts[place] };
  }

  /** Forgets the calls of the last round: its indices are free for other calls. */
  beginRound(): void {
    this.#byIndex.clear();
    this.#calls = [];
    this.#roundAt = this.#parts.length;
  }

  /** Adds to the text that is open, or opens one. */
  *addText(text: string): Generator<PartEvent> {
    if (text) yield this.#take((this.#openText ??= this.#new("text")), "streaming", { text });
  }

  /** Adds a piece of a call; a whole call is ready, and has an id, which `newId` makes. */
  async *addPiece(piece: CallPiece, newId: NewId): AsyncGenerator<PartEvent> {
    const known = piece.index === undefined ? undefined : this.#byIndex.get(piece.index);
    const said = { text: piece.arguments, callId: piece.id, name: piece.name };
    if (known !== undefined) {
      if (this.#parts[known].callId) said.callId = "";
      if (this.#parts[known].name) said.name = "";
      if (said.text || said.callId || said.name) yield this.#take(known, "streaming", said);
      return;
    }
    yield* this.#endText();
    const place = this.#new("tool_call");
    this.#calls.push(place);
    if (piece.index === undefined) {
      said.callId ||= await newId();
      yield this.#take(place, "ready", said);
    } else {
      this.#byIndex.set(piece.index, place);
      yield this.#take(place, "streaming", said);
    }
  }

  /** Ends the text that is open; calls that came in pieces are complete now. */
  async *endStream(newId: NewId): AsyncGenerator<PartEvent> {
    yield* this.#endText();
    for (const place of this.#calls) {
      const { state, callId } = this.#parts[place];
      if (state !== "streaming") continue;
      yield this.#take(place, "ready", { callId: callId ? "" : await newId() });
    }
  }

  /** Says that a call of this round, by its number, is executed. */
  *execute(at: number): Generator<PartEvent> {
    yield this.#take(this.#calls[at], "executing");
  }

  /** Ends a call of this round and adds its result; `error` is why it failed. */
  *finish(at: number, text: string, error = ""): Generator<PartEvent> {
    const state = error ? "error" : "done";
    const call = this.#calls[at];
    yield this.#take(call, state, { error });
    const { callId, name } = this.#parts[call];
    yield this.#take(this.#new("tool_result"), state, { text, callId, name, error });
  }

  /** Ends in error whatever is open. */
  *fail(error: string): Generator<PartEvent> {
    this.#openText = undefined;
    for (let place = this.#roundAt; place < this.#parts.length; place++) {
      const { state } = this.#parts[place];
      if (state !== "done" && state !== "error") yield this.#take(place, "error", { error });
    }
  }

  *#endText(): Generator<PartEvent> {
    const place = this.#openText;
    this.#openText = undefined;
    if (place !== undefined) yield this.#take(place, "done");
  }

  #new(kind: PartKind): number {
    const place = this.#parts.length;
    const id = `part-${place + 1}`;
    const empty = { text: "", callId: "", name: "", error: "" };
    this.#parts.push({ id, place, kind, state: "streaming", ...empty });
    this.#texts.push("");
    return place;
  }

  #take(place: number, state: PartState, said: Said = {}): PartEvent {
    const { id, kind, callId, name } = this.#parts[place];
    const told = { text: "", callId: "", name: "", error: "", ...said };
    const event: PartEvent = { id, place, kind, state, ...told };
    this.#parts[place] = {
      ...event,
      callId: told.callId || callId,
      name: told.name || name,
    };
    this.#texts[place] += told.text;
    this.#events.push(event);
    return event;
  }
}
