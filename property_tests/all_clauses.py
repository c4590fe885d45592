"""All clauses that there are: those about engines, about stores and of each dialect."""

from __future__ import annotations

from property_tests.dialects.dialects import dialects
from property_tests.registry import Contract
from property_tests.stores.clauses import with_stores


def with_others(engines: Contract) -> Contract:
    """Return the clauses about engines, behind them those about stores and dialects."""
    found = with_stores(engines)
    own = (clause for each in dialects() for clause in each.contract.clauses)
    return found.model_copy(update={"clauses": (*found.clauses, *own)})
