"""Doors to sessions with callbacks: their worlds as data, and how they are played."""
