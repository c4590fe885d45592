"""Knows the search profiles before the command line asks for one (see support.py)."""

from tests.properties import support

__all__ = ["support"]  # importing it registers them
