"""The clauses about stores: a contract of their own, beside the one about engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from property_tests.registry import Contract, read_contract

FILE: Final = Path(__file__).with_name("contract.toml")
FAMILY: Final = "STO"
"""The family that all of them belong to."""


@cache
def store_contract() -> Contract:
    """Return the clauses about stores that come with the package."""
    return read_contract(FILE.read_text("utf-8"), f"stores/{FILE.name}")
