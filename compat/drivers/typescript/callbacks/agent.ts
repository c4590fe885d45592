/**
 * An agent with one slot for callbacks, which runs sessions.
 *
 * A session is loaded, told to have started, plays its messages, is stored after each of
 * them, and is told to have ended, whatever happened in between.
 */
import type { Message, Model, Tool, ToolCall } from "./messages.ts";
import { stateOf, type CallbackSet, type SessionState, type Status } from "./table.ts";

const MOST_STEPS = 20;

export interface SessionResult {
  readonly answer: Message | null;
  readonly status: Status;
  readonly state: SessionState;
}

/** One fact: the type of its callback, and what that is called with. */
export interface SessionFact {
  readonly name: string;
  readonly data: readonly unknown[];
}

type Reader = (fact: SessionFact) => Promise<void>;

export class CallbackAgent {
  readonly #model: Model;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #readers = new Set<Reader>();
  readonly #running = new Set<string>();
  #callbacks: CallbackSet = {};
  #manager: unknown;

  constructor(model: Model, tools: readonly Tool[]) {
    this.#model = model;
    this.#tools = new Map(tools.map((each) => [each.name, each]));
  }

  /** Puts callbacks in the slot, in the place of those that were there. */
  setCallBacks(callbacks: CallbackSet): void {
    this.#callbacks = callbacks;
  }

  /** Takes the slot for a manager; another one's is not given away. */
  claim(manager: unknown): void {
    if (this.#manager !== undefined && this.#manager !== manager) {
      throw new Error("the agent has a session manager: connect another client to that one");
    }
    this.#manager = manager;
  }

  /** Plays a session: each text is a message of the user, with a run of its own. */
  async run(sessionId: string, texts: readonly string[], signal: AbortSignal) {
    if (!sessionId || texts.length === 0) throw new Error("give a session an id and a message");
    if (this.#running.has(sessionId)) throw new Error(`session '${sessionId}' runs already`);
    this.#running.add(sessionId);
    try {
      return await this.#session(sessionId, texts, signal);
    } finally {
      this.#running.delete(sessionId);
    }
  }

  /** Plays a session and yields its facts; it waits for its reader. Leaving cancels it. */
  async *stream(sessionId: string, texts: readonly string[]): AsyncGenerator<SessionFact, void> {
    const stop = new AbortController();
    const facts = new Handing<SessionFact>();
    const reader: Reader = (fact) => facts.put(fact);
    this.#readers.add(reader);
    const session = this.run(sessionId, texts, stop.signal).finally(() => facts.end());
    session.catch(() => {}); // it is awaited at the end
    try {
      yield* facts.taken();
      await session;
    } finally {
      this.#readers.delete(reader);
      facts.end(); // nobody reads any more, and nobody waits for that
      stop.abort();
      await session.catch(() => {});
    }
  }

  /** Tells a fact: to the readers of streams, then to the slot; returns what that gives. */
  async emit(name: string, ...data: unknown[]): Promise<unknown> {
    await this.notify({ name, data });
    return await this.#callbacks[name]?.(...data);
  }

  /** Hands a fact to whoever reads a session as a stream. */
  async notify(fact: SessionFact): Promise<void> {
    for (const each of this.#readers) await each(fact);
  }

  async #session(sessionId: string, texts: readonly string[], signal: AbortSignal) {
    let state = stateOf(await this.emit("loadAgentStorage", sessionId), sessionId);
    let answer: Message | null = null;
    let status: Status = "error";
    try {
      await this.emit("onSessionStart", sessionId);
      for (const text of texts) {
        const messages = await this.#turn(state, text, signal);
        signal.throwIfAborted();
        state = { ...state, messages };
        answer = messages.at(-1) ?? null;
        await this.emit("onStateStorage", state);
      }
      status = "completed";
    } catch (error) {
      if (signal.aborted) status = "cancelled";
      else await this.emit("onError", error, "agent");
      throw error;
    } finally {
      await this.emit("onSessionEnd", sessionId, status);
    }
    return { answer, status, state };
  }

  /** Returns the messages of a state with a turn behind them. */
  async #turn(state: SessionState, text: string, signal: AbortSignal): Promise<Message[]> {
    const messages: Message[] = [...state.messages, { role: "user", content: text }];
    for (let stepIndex = 1; stepIndex <= MOST_STEPS; stepIndex++) {
      await this.emit("onAgentStep", { stepIndex, messages: [...messages] });
      const answer = await this.#answer(messages, signal);
      messages.push(answer);
      if (answer.toolCalls === undefined) return messages;
      messages.push(...(await this.#results(answer.toolCalls, signal)));
    }
    throw new Error(`no answer after ${MOST_STEPS} steps`);
  }

  async #answer(messages: readonly Message[], signal: AbortSignal): Promise<Message> {
    let content = "";
    const toolCalls: ToolCall[] = [];
    for await (const chunk of this.#model.stream([...messages], signal)) {
      if (chunk.content) await this.emit("onLLMTextDelta", chunk.content);
      content += chunk.content;
      toolCalls.push(...chunk.calls);
    }
    if (content) await this.emit("onLLMTextDone", content);
    return { role: "assistant", content, ...(toolCalls.length && { toolCalls }) };
  }

  /** Runs the calls of an answer at the same time; one that fails ends when all have ended. */
  async #results(calls: readonly ToolCall[], signal: AbortSignal): Promise<Message[]> {
    const tools = calls.map(({ name }) => {
      const tool = this.#tools.get(name);
      if (tool === undefined) throw new Error(`tool '${name}' not found`);
      return tool;
    });
    for (const each of calls) await this.emit("onToolCallStart", each);
    const running = calls.map((each, at) => this.#executed(tools[at], each, signal));
    await Promise.allSettled(running);
    signal.throwIfAborted(); // who cancelled hears of that, whatever failed before
    return Promise.all(running); // the first that failed, in the order of the calls
  }

  async #executed(tool: Tool, call: ToolCall, signal: AbortSignal): Promise<Message> {
    const { id: callId, name } = call;
    let result: string;
    try {
      result = await tool.invoke(call, signal);
    } catch (error) {
      const stopped = signal.aborted && error === signal.reason;
      if (!stopped) await this.emit("onToolExecutionEnd", { name, callId, result: null, error });
      throw error;
    }
    await this.emit("onToolExecutionEnd", { name, callId, result, error: null });
    return { role: "tool", content: result, toolCallId: callId, name };
  }
}

/** Hands values from one side to the other; each is over when the next one is asked for. */
class Handing<T> {
  readonly #given: { value: T; taken: () => void }[] = [];
  #wake: () => void = () => {};
  #ended = false;

  async put(value: T): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((taken) => {
      this.#given.push({ value, taken });
      this.#wake();
    });
  }

  /** Ends it: what was not taken is dropped, and nobody waits any more. */
  end(): void {
    this.#ended = true;
    for (const each of this.#given.splice(0)) each.taken();
    this.#wake();
  }

  async *taken(): AsyncGenerator<T, void> {
    while (!this.#ended || this.#given.length > 0) {
      const first = this.#given.shift();
      if (first === undefined) {
        await new Promise<void>((wake) => (this.#wake = wake));
        continue;
      }
      try {
        yield first.value;
      } finally {
        first.taken(); // whoever took it comes for the next one, or has left
      }
    }
  }
}
