import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager";
import { StructuredTool, type ToolRunnableConfig } from "@langchain/core/tools";

import type { ToolTold } from "../peer/frames.ts";
import type { Harness } from "../peer/harness.ts";
import type { Messages } from "./messages.ts";

/** What any tool of the harness takes: it alone says what its arguments may be. */
const ANYTHING = { type: "object", properties: {} } as const;

/** Calls a tool of the harness. */
export class HarnessTool extends StructuredTool {
  readonly name: string;
  readonly description: string;
  readonly schema = ANYTHING;

  private readonly harness: Harness;
  private readonly told: Messages;
  readonly spec: ToolTold;

  constructor(harness: Harness, told: Messages, spec: ToolTold, direct: boolean) {
    super({});
    this.harness = harness;
    this.told = told;
    this.spec = spec;
    this.name = spec.name;
    this.description = spec.description;
    this.returnDirect = direct;
  }

  protected override _call(
    args: Record<string, unknown>,
    _manager?: CallbackManagerForToolRun,
    config?: ToolRunnableConfig,
  ): Promise<string> {
    const call = this.told.tellCall(config?.toolCall ?? { name: this.name, args });
    return this.harness.tool(this.spec.tool, call.id, call.arguments);
  }
}
