"""Other shapes that agents are written in, each with a small reference of its own."""
