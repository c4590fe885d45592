"""Mutants of the Flow dialect: the reference edited, or under other postures."""

from __future__ import annotations

from typing import Final

from compat.dialects.flow.profile import flow_profile
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from property_tests.dialects.broken import BrokenReferences
from property_tests.dialects.dialect import DialectMutant, contract_in

BROKEN: Final = BrokenReferences(
    package="compat.dialects.flow",
    prefix="flow",
    under="flow-safe",
    profile_named=flow_profile,
    reference=FlowDialect,
    play_on=play_flow,
)

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

FLOW_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *BROKEN.edited("flow"),
    *BROKEN.other_postures(contract_in("flow"), UNDER, UNSHOWN),
)
"""All of them."""
