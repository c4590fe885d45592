/**
 * A driver of the AI SDK: an agent, `generateText` or `streamText`, over several steps.
 *
 * It owns the loop and nothing else. Model, tools and hooks stay with the harness and are
 * called back, so this program can neither interpret a scenario nor report of itself.
 * What is of one version alone is in its `version.ts`, since 5 in `major.ts`, which is put
 * beside these files.
 */
import { createRequire } from "node:module";
import process from "node:process";

import { drive } from "../peer/driver.ts";
import { StepsOver, TextAgent, UnansweredCalls, UnknownTool } from "./agent.ts";
import { ownOf } from "./subject.ts";
import { MORE, PROFILE } from "./version.ts";

const { version } = createRequire(import.meta.url)("ai/package.json") as { version: string };

/**
 * What it has for a user's own files, whose folder is named on the command line: runs that
 * stream. Its readers have the parts of the SDK there, which are not the chunks of the model
 * that an engine by itself is asked for.
 */
const STREAMS = process.argv[2] ? ["streaming", "streamed_model_wraps"] : [];

await drive({
  about: {
    engine: "ai-sdk",
    version,
    profile: PROFILE,
    capabilities: [
      "before_model",
      "wrap_model",
      "parallel_calls",
      "concurrent_calls",
      "several_handlers",
      "lone_surrogates",
      ...MORE,
      ...STREAMS,
    ],
  },
  kindOf(error) {
    if (error instanceof StepsOver) return "max_iterations";
    if (error instanceof UnansweredCalls) return "unanswered_calls";
    return error instanceof UnknownTool ? "unknown_tool" : "";
  },
  build: (harness, config, subject) => new TextAgent(harness, config, subject && ownOf(subject)),
});
