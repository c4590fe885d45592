"""What a handler costs: the engine beside plain Python, and beside other frameworks."""
