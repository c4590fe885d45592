/** Asks the model again where it fails, twice at most. */
import { createMiddleware } from "langchain";

const AGAIN = 2;

export function subject() {
  return createMiddleware({
    name: "ModelRetries",
    wrapModelCall: async (request, handler) => {
      for (let failed = 1; ; failed++) {
        try {
          return await handler(request);
        } catch (error) {
          if (failed > AGAIN) throw error;
        }
      }
    },
  });
}
