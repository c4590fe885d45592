"""The door to agents of strands, and what it is made of."""
