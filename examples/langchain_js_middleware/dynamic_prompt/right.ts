/** The same by the middleware that LangChain has for it, which adds what it is given. */
import { dynamicSystemPromptMiddleware } from "langchain";

const LONG = 3;

export function subject() {
  return dynamicSystemPromptMiddleware((state) => (state.messages.length > LONG ? " Be brief." : " Take your time."));
}
