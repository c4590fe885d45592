"""The contract as tests: ``pytest --pyargs property_tests --engine NAME``."""

from __future__ import annotations

from property_tests.face import Face


def test_door(face: Face, engine: str) -> None:
    """The engine can be judged at all: its door is right, and worlds decide."""
    face.settle_door(engine)


def test_clause(face: Face, engine: str, clause: str) -> None:
    """The engine keeps the clause in every world of the corpus."""
    face.settle(engine, clause)
