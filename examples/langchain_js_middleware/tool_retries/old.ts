/** Runs a tool again where it fails, twice at most; the model is then told what is wrong. */
import { ToolMessage, createMiddleware } from "langchain";

const AGAIN = 2;

export function subject() {
  return createMiddleware({
    name: "ToolRetries",
    wrapToolCall: async (request, handler) => {
      const { id = "", name } = request.toolCall;
      for (let failed = 1; ; failed++) {
        try {
          return await handler(request);
        } catch (error) {
          const content = `It did not work: ${(error as Error).message}`;
          if (failed > AGAIN) return new ToolMessage({ content, tool_call_id: id, name, status: "error" });
        }
      }
    },
  });
}
