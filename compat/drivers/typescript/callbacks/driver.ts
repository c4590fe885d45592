/** The driver of the sessions of callbacks v2. */
import { SessionManager } from "./manager.ts";
import { serve } from "./serving.ts";

const about = {
  engine: "typescript-callbacks",
  profile: "callbacks-v2",
  capabilities: [
    ...["clients", "listener", "middleware", "types", "stream"],
    ...["file", "restart", "managers", "cancellation"],
  ],
};

await serve(about, (agent, options) => new SessionManager(agent, options));
