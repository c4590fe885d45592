"""Mutants of observers: our small one with a step wrong."""

from __future__ import annotations

from property_tests.observers.mutants.faults import OBSERVER_MUTANTS

__all__ = ["OBSERVER_MUTANTS"]
