/** Where sessions are kept: in memory, or in one file. */
import { readFile, rename, writeFile } from "node:fs/promises";

import type { SessionState } from "./table.ts";

export interface SessionStore {
  load(sessionId: string): Promise<SessionState | null>;
  save(state: SessionState): Promise<void>;
}

export class MemoryStore implements SessionStore {
  readonly #kept = new Map<string, SessionState>();

  async load(sessionId: string): Promise<SessionState | null> {
    return this.#kept.get(sessionId) ?? null;
  }

  async save(state: SessionState): Promise<void> {
    this.#kept.set(state.sessionId, state);
  }
}

/** Keeps sessions as JSON in a file, which is always whole: it is replaced at once. */
export class FileStore implements SessionStore {
  readonly #path: string;
  #last: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  async load(sessionId: string): Promise<SessionState | null> {
    await this.#last;
    return (await this.#all())[sessionId] ?? null;
  }

  async save(state: SessionState): Promise<void> {
    const saved = this.#last.then(() => this.#write(state));
    this.#last = saved.catch(() => {}); // who saves next does not fail because of this
    await saved;
  }

  async #write(state: SessionState): Promise<void> {
    const all = { ...(await this.#all()), [state.sessionId]: state };
    await writeFile(`${this.#path}.new`, JSON.stringify(all));
    await rename(`${this.#path}.new`, this.#path);
  }

  async #all(): Promise<Record<string, SessionState>> {
    try {
      return JSON.parse(await readFile(this.#path, "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw error;
    }
  }
}
