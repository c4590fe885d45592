"""Knows the search profiles before the command line asks for one (see support.py)."""

import tests.properties.support  # noqa: F401  # it registers them
