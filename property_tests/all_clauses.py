"""All clauses that there are: those about engines, about stores and of each dialect."""

from __future__ import annotations

from property_tests.dialects.dialects import dialects
from property_tests.registry import Contract
from property_tests.stores.clauses import store_contract


def with_others(engines: Contract) -> Contract:
    """Return the clauses about engines, behind them those about stores and dialects."""
    others = (store_contract(), *(each.contract for each in dialects()))
    own = (clause for each in others for clause in each.clauses)
    return engines.model_copy(update={"clauses": (*engines.clauses, *own)})
