"""Rows of recorded behaviour of real engines, run against the reference engine."""
