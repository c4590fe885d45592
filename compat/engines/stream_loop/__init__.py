"""Doors to the stream loop: its worlds as data, how they are played, what is seen."""
