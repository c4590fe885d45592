/**
 * A driver of LangChain.js: agents of `createAgent`, with middleware.
 *
 * It owns the agent loop and nothing else. Model, tools and hooks stay with the harness and
 * are called back, so this program can neither interpret a scenario nor report of itself.
 */

import { createRequire } from "node:module";

import { drive } from "../peer/driver.ts";
import { ReactAgent, kindOf } from "./agent.ts";
import { ownOf } from "./subject.ts";

const { version } = createRequire(import.meta.url)("langchain/package.json") as { version: string };

drive({
  about: {
    engine: "langchain",
    version,
    profile: "langchain-js-1",
    capabilities: [
      "before_agent",
      "before_model",
      "after_model",
      "after_agent",
      "wrap_model",
      "wrap_tool",
      "struct_tools",
      "parallel_calls",
      "equal_call_ids",
      "concurrent_calls",
      "return_directly",
      "streaming",
      "several_handlers",
      "next_twice",
      "run_locals",
      "lone_surrogates",
    ],
  },
  kindOf,
  build: (harness, config, subject) => new ReactAgent(harness, config, subject && ownOf(harness, subject)),
});
