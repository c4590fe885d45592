"""The contract as tests: ``pytest --pyargs property_tests --engine NAME``."""

from __future__ import annotations

from property_tests.pytest_suite import EngineTests


def test_door(suite: EngineTests, engine: str) -> None:
    """The engine can be judged at all: its door is right, and worlds decide."""
    suite.settle_door(engine)


def test_clause(suite: EngineTests, engine: str, clause: str) -> None:
    """The engine keeps the clause in every world of the corpus."""
    suite.settle(engine, clause)
