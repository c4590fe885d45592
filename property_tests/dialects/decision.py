"""What a decision of a clause is: what was asked for, and what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from refengine.messages import Json
from refengine.postures import AnyProfile
from refengine.testing.trace import difference, to_json


def scenario_json(scenario: BaseModel) -> dict[str, JsonValue]:
    """Return a scenario without defaults, and with what says whose notation it is."""
    found = scenario.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return {"subject": getattr(scenario, "subject", ""), **found}


@dataclass(frozen=True, slots=True)
class DialectDecision:
    """One decision of a clause: what it asked for, and what was seen.

    ``place`` is the number of the observation that decided, None where something is
    missing. ``at`` is where in the trace they differ first, 0 where they do not, and
    ``causes`` tells whether what comes behind that may be its consequence. ``lacks``
    is the number of what only the reference did, ``more`` of what only was seen.
    """

    claim: str
    expected: object
    got: object
    place: int | None = None
    at: int = 0
    causes: bool = True
    lacks: int | None = None
    more: int | None = None

    @property
    def difference(self) -> tuple[str, Json, Json] | None:
        """Path and values of the first place where they differ, None if nowhere."""
        if self.expected is self.got:
            return None
        return difference(to_json(self.expected), to_json(self.got))

    @property
    def holds(self) -> bool:
        """Whether both are the same, type-strict: 1, 1.0 and true differ."""
        return self.difference is None


def lacking(
    under: Mapping[str, Sequence[str]],
    needs: Iterable[str],
    profile: AnyProfile,
    capabilities: Iterable[str],
) -> str:
    """Return why a clause does not apply to a door, "" if it does.

    A need may be one of several capabilities, with ``|`` between them.
    """
    for posture, options in under.items():
        if getattr(profile, posture) not in options:
            return f"it holds where {posture} is {' or '.join(options)}"
    there = set(capabilities)
    undeclared = sorted(x for x in needs if there.isdisjoint(x.split("|")))
    told = " and ".join(each.replace("|", " or ") for each in undeclared)
    return f"the door does not declare {told}" if undeclared else ""
