/** Takes three messages for many, and not four. */
import { dynamicSystemPromptMiddleware } from "langchain";

const LONG = 3;

export function subject() {
  return dynamicSystemPromptMiddleware((state) => (state.messages.length >= LONG ? " Be brief." : " Take your time."));
}
