"""Profiles side by side: where two differ, and the smallest scenario that shows it."""
