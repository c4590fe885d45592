"""Kept runs, cut at every point and resumed, against runs that were never cut."""
