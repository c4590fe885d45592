"""The door to agents of pydantic-ai 2, and what it is made of."""
