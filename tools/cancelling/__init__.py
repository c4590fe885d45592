"""Runs cancelled at every point."""
