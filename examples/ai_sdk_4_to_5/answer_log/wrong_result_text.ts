/** Still reads `text` and `toolCalls`, which a result has no more: both are undefined. */
import { world } from "refengine/world";

export function subject() {
  return {
    async wrapGenerate({ doGenerate }: any) {
      const result = await doGenerate();
      const calls = (result.toolCalls ?? []).map((call: any) => call.toolName);
      await world.effect("answered", { text: result.text ?? "", calls });
      return result;
    },
  };
}
