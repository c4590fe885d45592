"""Knows the search profiles before the command line asks for one (see support.py)."""

from tests.properties import support as support
