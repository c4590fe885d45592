"""Mutants of observers: our small one with a step wrong."""

from __future__ import annotations

from typing import Final

from property_tests.observers.mutants.faults import WRONG_OBSERVERS
from property_tests.observers.mutants.hasty import HASTY_OBSERVERS

OBSERVER_MUTANTS: Final = (*WRONG_OBSERVERS, *HASTY_OBSERVERS)
"""All of them."""
