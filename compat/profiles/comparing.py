"""Profiles side by side: what their postures are about, and where two differ.

A posture with several options has several scenarios: one that tells all of them apart
would be large, or would need what not every engine has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeAlias, cast

from compat.profiles.kinds import PostureDifference
from refengine.errors import RefengineError, error
from refengine.messages import Json
from refengine.profile import Profile, choosing, differences, options
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import (
    MISSING,
    Divergence,
    Trace,
    comparable,
    first_divergence,
)

Entry: TypeAlias = "Mapping[str, Json]"  # an observation as JSON values


@error
class NoScenarioError(RefengineError, LookupError):
    """A posture has no scenario that shows it."""

    posture: str
    says = (
        "no scenario shows posture {posture!r}: add to compat/profiles/scenarios.json"
        " the smallest ones in which two of its options differ"
    )


def scenarios() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the small scenarios of each posture, as JSON; raises NoScenarioError."""
    text = files("compat.profiles").joinpath("scenarios.json").read_text("utf-8")
    found = cast("dict[str, Sequence[Mapping[str, Any]]]", json.loads(text))
    for posture in options():
        if not found.get(posture):
            raise NoScenarioError(posture)
    return found


def unconfirmed() -> Mapping[str, Mapping[str, str]]:
    """Return, by profile, the postures that its engine cannot show, each with why.

    Where the engine has no such point at all, the profile has the value of seed-001.
    """
    text = files("compat.profiles").joinpath("unconfirmed.json").read_text("utf-8")
    return cast("Mapping[str, Mapping[str, str]]", json.loads(text))


def profile_differences(a: Profile, b: Profile) -> Iterator[PostureDifference]:
    """Yield the postures in which two profiles differ, each with a run that shows it.

    Only the one posture is changed between the two runs, so nothing else can be what
    the divergence shows. Beside the first profile's other options it may make none.
    """
    known = scenarios()
    for posture, _, right in differences(a, b):
        shown = _shown(known[posture], a, posture, right)
        if shown is None:
            beside = f"it makes no difference beside the other options of {a.name}"
            yield PostureDifference(posture, beside, ())
            continue
        scenario, found = shown
        told = f"scenario: {json.dumps(scenario, ensure_ascii=False)}"
        yield PostureDifference(posture, told, (str(found),))


def _shown(
    known: Sequence[Mapping[str, Any]], a: Profile, posture: str, option: str
) -> tuple[Mapping[str, Any], Divergence] | None:
    """Return the first scenario that tells an option apart, and where, if one does."""
    changed = choosing(a, posture, option)
    for each in known:
        scenario = read_scenario(each, posture)
        ours, theirs = played(scenario, a), played(scenario, changed)
        found = first_divergence(ours, theirs)
        if found is not None:
            return each, _clearer(found, comparable(ours), comparable(theirs))
    return None


def _clearer(
    found: Divergence, ours: Sequence[Entry], theirs: Sequence[Entry]
) -> Divergence:
    """Return it with both observations in brief, where they are no two of a kind."""
    at = found.index
    pair = [_brief(each[at]) if at < len(each) else MISSING for each in (ours, theirs)]
    kinds = [each[at]["kind"] if at < len(each) else None for each in (ours, theirs)]
    return found if kinds[0] == kinds[1] else Divergence(at, "", *pair)


def _brief(entry: Entry) -> str:
    data = cast("Mapping[str, Any]", entry["data"])
    error = data.get("error")
    parts = [data.get(key) for key in ("extension", "hook", "status", "message")]
    parts += [
        error["point"] if isinstance(error, Mapping) else error,
        data.get("class"),
    ]
    if entry["kind"] == "tool_start":
        parts.append(data["name"])
    return " ".join([str(entry["kind"]), *(str(each) for each in parts if each)])


def played(scenario: Scenario, profile: Profile) -> Trace:
    """Play a scenario on the reference engine under a profile."""
    return run(play(scenario, ReferenceEngine(profile)))
