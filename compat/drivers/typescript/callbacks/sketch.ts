/**
 * The session manager as the guide of callbacks v2 sketches it.
 *
 * `setupAgentCallbacks` stands here as it does there, with its comments in English; around
 * it is the plainest code. `manager.ts` beside it is what was made of it.
 */
import type { CallbackAgent } from "./agent.ts";
import type { IClient } from "./client.ts";
import type { SessionStore } from "./stores.ts";
import type { AgentCallbacks, CallbackSet, SessionState } from "./table.ts";

export class SketchedSessionManager {
  private readonly agent: CallbackAgent;
  private readonly store: SessionStore;
  private client?: IClient | undefined;
  private callbacks?: AgentCallbacks;

  constructor(agent: CallbackAgent, store: SessionStore) {
    this.agent = agent;
    this.store = store;
    this.setupAgentCallbacks();
  }

  setClient(client: IClient): void {
    this.client = client;
    this.setupAgentCallbacks();
  }

  setCallbacks(callbacks: AgentCallbacks): void {
    this.callbacks = callbacks;
  }

  private setupAgentCallbacks(): void {
    const clientCallbacks = this.client?.agentCallbacks as AgentCallbacks | undefined;

    // 1. what is the session manager's own
    const sessionSpecificCallbacks: AgentCallbacks = {
      loadAgentStorage: async (sessionId) => {
        // the client's own storage first
        if (clientCallbacks?.loadAgentStorage) {
          const result = await clientCallbacks.loadAgentStorage(sessionId);
          if (result) return result;
        }
        // else the local one
        return await this.loadSession(sessionId);
      },
      onStateStorage: (state) => {
        this.saveSession(state.sessionId, state); // keep it here
        clientCallbacks?.onStateStorage?.(state); // tell the client
      },
      // ... and the other callbacks of a session
      onSessionStart: () => {},
      onSessionEnd: () => {},
    };

    // 2. the callbacks are merged
    const mergedCallbacks: AgentCallbacks = {
      ...clientCallbacks, // the client's come first
      ...sessionSpecificCallbacks, // the session manager's stand over them

      // 3. what both are told
      onToolExecutionEnd: (result) => {
        clientCallbacks?.onToolExecutionEnd?.(result);
        this.callbacks?.onToolExecutionEnd?.(result);
      },
    };

    // 4. they go to the agent
    this.agent.setCallBacks(mergedCallbacks as CallbackSet);
  }

  private async loadSession(sessionId: string): Promise<SessionState | null> {
    return await this.store.load(sessionId);
  }

  private async saveSession(_: string, state: SessionState): Promise<void> {
    await this.store.save(state);
  }
}
