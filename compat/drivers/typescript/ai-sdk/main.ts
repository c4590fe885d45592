/**
 * A driver of the AI SDK: `generateText` over several steps.
 *
 * It owns the loop and nothing else. Model, tools and hooks stay with the harness and are
 * called back, so this program can neither interpret a scenario nor report of itself.
 */
import { createRequire } from "node:module";

import { drive } from "../peer/driver.ts";
import { StepsOver, TextAgent } from "./agent.ts";

const { version } = createRequire(import.meta.url)("ai/package.json") as { version: string };

await drive({
  about: {
    engine: "ai-sdk",
    version,
    profile: "ai-sdk-5",
    capabilities: [
      "before_model",
      "wrap_model",
      "parallel_calls",
      "concurrent_calls",
      "return_directly",
      "several_handlers",
      "lone_surrogates",
    ],
  },
  kindOf: (error) => (error instanceof StepsOver ? "max_iterations" : ""),
  build: (harness, config) => new TextAgent(harness, config),
});
