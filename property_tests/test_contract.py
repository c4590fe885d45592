"""The contract as tests: ``pytest --pyargs property_tests --engine NAME``."""

from __future__ import annotations

from collections.abc import Callable

from property_tests.pytest_suite import EngineTests

Record = Callable[[str, object], None]


def test_door(suite: EngineTests, engine: str, record_property: Record) -> None:
    """The engine can be judged at all: its door is right, and worlds decide."""
    record_property("engine", engine)
    suite.settle_door(engine)


def test_clause(
    suite: EngineTests, engine: str, clause: str, record_property: Record
) -> None:
    """The engine keeps the clause in every world of the corpus."""
    suite.tell(engine, clause, record_property)
    suite.settle(engine, clause)
