"""The door to agents of openai-agents, and what it is made of."""
