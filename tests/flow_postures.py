"""What shows each posture of ``adk-py-2``, and why some are not shown.

``flow_postures.json`` has small worlds for each posture: in one of them the reference
plays otherwise under any other option. ``unshown`` has a reason for each option that no
world tells apart; ``apart`` has what else differs in these worlds, by its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat.dialects.flow.profile import FlowProfile, flow_profile
from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.doors import FlowEngine
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario
from refengine.messages import Json
from refengine.postures import choosing, options_of
from tests.differential.explaining import Explained

PROFILE: Final = flow_profile("adk-py-2")


@dataclass(frozen=True, slots=True)
class Shown:
    """How a posture is shown."""

    worlds: tuple[FlowScenario, ...]
    unshown: Mapping[str, str]
    apart: tuple[Explained, ...]


def shown_postures() -> dict[str, Shown]:
    """Read the table."""
    text = Path(__file__).with_name("flow_postures.json").read_text("utf-8")
    return {name: _shown(each) for name, each in json.loads(text).items()}


def _shown(entry: Any) -> Shown:
    worlds = (json.dumps(each) for each in entry.get("worlds", ()))
    return Shown(
        tuple(FlowScenario.model_validate_json(each) for each in worlds),
        entry.get("unshown", {}),
        tuple(Explained("apart", *each) for each in entry.get("apart", {}).items()),
    )


def other_options(posture: str) -> set[str]:
    """Return the options that the profile does not have there."""
    return {*options_of(FlowProfile)[posture]} - {getattr(PROFILE, posture)}


def played(scenario: FlowScenario, engine: FlowEngine) -> list[Json]:
    """Play a world, for a comparison."""
    return comparable_flow(play_flow(scenario, engine), scenario)


def reference(posture: str = "", option: str = "") -> FlowDialect:
    """Return the reference under the profile, perhaps with another option."""
    return FlowDialect(choosing(PROFILE, posture, option) if posture else PROFILE)
