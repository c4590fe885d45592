import { RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver, REMOVE_ALL_MESSAGES } from "@langchain/langgraph";

/**
 * The thread that the turns of one conversation share, for middleware that keeps something in it.
 *
 * The harness tells the whole history with each turn, so that is put in the place of the
 * thread's own, and all else that the thread holds stays. A turn goes on with the thread if
 * its history begins with what the last run was given and left; one that failed ends it.
 */
export class Thread {
  readonly checkpointer = new MemorySaver();
  private number = 0;
  private left: string[] | undefined;

  /** Begins a run; returns what it is given, and the thread that it is of. */
  begin(history: BaseMessage[]): { messages: BaseMessage[]; configurable: { thread_id: string } } {
    const said = history.map(textOf);
    const continues = this.left !== undefined && said.length > this.left.length && this.left.every((each, at) => each === said[at]);
    if (!continues) this.number += 1;
    this.left = undefined;
    const messages = continues ? [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...history] : history;
    return { messages, configurable: { thread_id: `${this.number}` } };
  }

  /** Ends a run that did not fail, with what it was given and what it said. */
  end(history: BaseMessage[], said: BaseMessage[]): void {
    this.left = [...history, ...said].map(textOf);
  }
}

function textOf(message: BaseMessage): string {
  return `${message.getType()}:${message.text}`;
}
