"""Profiles of the Flow dialect side by side, each posture by a decision that shows it.

A decision is an input in the notation of the rows about ADK. Postures that only a whole
run shows have none here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, cast

from compat.dialects.flow.errors import FlowError
from compat.dialects.flow.profile import FlowProfile
from compat.observe.flow.deciding import DECIDING
from refengine.postures import choosing, differences


@dataclass(frozen=True, slots=True)
class FlowPostureDifference:
    """One posture in which two profiles differ, and a decision that shows it.

    ``decision`` is None for a posture that no decision shows alone; ``shown`` has what
    is decided under either option.
    """

    posture: str
    left: str
    right: str
    decision: Mapping[str, Any] | None = None
    shown: tuple[str, str] = ("", "")


def decisions() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the small decisions of each posture that has some, as JSON.

    ``under`` are other postures that a decision needs to have the point at all.
    """
    text = files("compat.profiles").joinpath("flow_decisions.json").read_text("utf-8")
    return cast("dict[str, Sequence[Mapping[str, Any]]]", json.loads(text))


def flow_differences(a: FlowProfile, b: FlowProfile) -> Iterator[FlowPostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it.

    Only the one posture is changed between the two decisions, so nothing else can be
    what they show.
    """
    known = decisions()
    for posture, left, right in differences(a, b):
        yield _shown(known.get(posture, ()), a, posture, left, right)


def _shown(
    known: Sequence[Mapping[str, Any]],
    a: FlowProfile,
    posture: str,
    left: str,
    right: str,
) -> FlowPostureDifference:
    changed = choosing(a, posture, right)
    for each in known:
        shown = decided_text(each, a), decided_text(each, changed)
        if shown[0] != shown[1]:
            return FlowPostureDifference(posture, left, right, each, shown)
    return FlowPostureDifference(posture, left, right)


def decided_text(decision: Mapping[str, Any], profile: FlowProfile) -> str:
    """Return what is decided under a profile, as JSON, or the error it ends in."""
    for posture, option in decision.get("under", {}).items():
        profile = choosing(profile, posture, option)
    try:
        found = DECIDING[decision["kind"]].decide(decision["input"], profile)
    except FlowError as error:
        return f"{type(error).__name__}: {error}"
    return json.dumps(found, ensure_ascii=False)
