"""Mutants of postures: each has another option than its profile says."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant, contract_in
from property_tests.flow.mutants.steps import BROKEN

PY: Final = "adk-py-2"
UNDER: Final = {"failing_call": PY, "no_pivot": PY}
"""Postures that decide nothing under ``flow-safe``."""
UNSHOWN: Final = {
    "skipped_response no_content": "a model of a world gives no grounding",
    "on_event_kept merged": (
        "a hook of a world replaces the content of an event alone, which is the same"
    ),
    "lone_response kept": "it has no call, and orphan_response drops it before",
    "native_schema by_model": "a model of a world is of no vendor's class",
}
"""Options that no world tells from that of the profile, and why."""

POSTURES: Final[tuple[DialectMutant, ...]] = tuple(
    BROKEN.other_postures(contract_in("flow"), UNDER, UNSHOWN)
)
"""All of them."""
