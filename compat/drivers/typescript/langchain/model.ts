import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";

import type { Harness, InfoTold } from "../peer/harness.ts";
import type { Messages } from "./messages.ts";
import { HarnessTool } from "./tools.ts";

interface Options extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/** Answers with what the harness's model says. */
export class HarnessModel extends BaseChatModel<Options> {
  private readonly harness: Harness;
  private readonly told: Messages;

  constructor(harness: Harness, told: Messages) {
    super({});
    this.harness = harness;
    this.told = told;
  }

  override _llmType(): string {
    return "refengine";
  }

  override bindTools(tools: BindToolsInput[], options?: Partial<Options>) {
    return this.withConfig({ ...options, tools });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const answer = await this.harness.answer(this.told.tellAll(messages), infosOf(options.tools));
    return { generations: [{ text: answer.content, message: this.told.read(answer) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const given = this.told.tellAll(messages);
    const pieces = this.told.pieces();
    for await (const piece of await this.harness.answering(given, infosOf(options.tools))) {
      const message = pieces.read(piece);
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
    pieces.end();
  }
}

/** Return what the model is told of the tools that were bound to it. */
export function infosOf(tools: readonly unknown[] = []): InfoTold[] {
  return tools.map((each) => {
    const { name, description } = each as HarnessTool;
    return { name, description };
  });
}
