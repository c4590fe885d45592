"""What is kept of runs, for people to look at: ``refengine checkpoint``."""
