/** The driver of the session manager as the guide of callbacks v2 sketches it. */
import { serve } from "./serving.ts";
import { SketchedSessionManager } from "./sketch.ts";

// One client, who cannot be taken away; nothing around callbacks, and no types to add.
const about = {
  engine: "typescript-callbacks-sketch",
  profile: "callbacks-v2-sketch",
  capabilities: ["clients", "listener", "restart", "managers", "cancellation"],
};

await serve(about, (agent, { store }) => new SketchedSessionManager(agent, store));
