"""Verdicts of releases over time, in one file."""
