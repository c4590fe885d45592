/** Clients: who shows a session to its user, by callbacks that may be set at any time. */
import type { AgentCallbacks } from "./table.ts";

/** What a client connects to. */
export interface ClientRegistry {
  setClient(client: IClient): void;
}

export interface IClient {
  agentCallbacks?: AgentCallbacks | undefined;
}

export class Client implements IClient {
  agentCallbacks?: AgentCallbacks | undefined;

  setAgentCallbacks(callbacks: AgentCallbacks | undefined): void {
    this.agentCallbacks = callbacks;
  }

  /** Connects to a manager, as its setClient does. */
  setSessionManager(manager: ClientRegistry): void {
    manager.setClient(this);
  }
}

/** Prints a session as the guide's client does, a line for each step and tool. */
export class SimpleClient extends Client {
  constructor(write: (line: string) => void = console.log) {
    super();
    const callbacks: AgentCallbacks = {
      onAgentStep: ({ stepIndex }) => write(`🤖 Step ${stepIndex}`),
      onToolCallStart: ({ name }) => write(`🔧 Tool: ${name}`),
      onToolExecutionEnd: ({ name }) => write(`✅ Result: ${name}`),
      loadAgentStorage: () => null, // the manager's own storage is used
    };
    this.setAgentCallbacks(callbacks);
  }
}
