"""Whether a real engine does what its profile says, posture by posture.

Every scenario of a posture is played on the engine, where it declares what that needs,
and on the reference engine under the profile. What both worlds saw is compared as the
contract has it (§4): classes and texts of errors apart, and without the notices that
the reference engine gives about itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from compat.engines.capabilities import refusal_of
from compat.profiles.comparing import played, scenarios
from compat.profiles.own_words import OwnWords
from refengine.messages import Json
from refengine.profile import Profile, choosing, options
from refengine.testing.clock import run
from refengine.testing.doors import Engine
from refengine.testing.notation import parse_message
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play, whole
from refengine.testing.trace import (
    Divergence,
    Trace,
    comparable,
    first_divergence,
)

NOTICES: Final = frozenset(("warning", "ignored_change", "tools_removed"))
OWN_POINTS: Final = frozenset(("routing", "harness"))
"""Points of errors that the engine itself raised, which say no more than that."""

Seen: TypeAlias = "Sequence[Mapping[str, Json]]"  # what two engines are compared by
SeenOf: TypeAlias = Callable[[Trace], Seen]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What runs of one posture's scenarios showed.

    ``ran`` counts the scenarios that were played, ``refused`` says why the others were
    not. ``told_from`` are the options that those played tell from the profile's own.
    """

    posture: str
    value: str
    ran: int
    refused: tuple[str, ...]
    told_from: tuple[str, ...]
    divergence: Divergence | None


def confirmed(
    engine: Engine, profile: Profile, posture: str, seen_of: SeenOf | None = None
) -> Confirmed:
    """Play the scenarios of one posture on an engine and under its profile.

    ``seen_of`` returns what is compared of a trace, if that is not ``projected``.
    """
    seen_of = seen_of or projected
    value = getattr(profile, posture)
    others = [each for each in options()[posture] if each != value]
    shown_apart: set[str] = set()
    refused: list[str] = []
    ran, divergence = 0, None
    for each in scenarios()[posture]:
        scenario = read_scenario(each, posture)
        theirs = run(play(scenario, engine))
        why = refusal_of(theirs)
        if why is not None:
            refused.append(why)
            continue
        ran += 1
        seen = seen_of(theirs)
        ours = seen_of(played(scenario, profile))
        divergence = divergence or first_divergence(seen, ours)
        for other in others:
            changed = seen_of(played(scenario, choosing(profile, posture, other)))
            if first_divergence(seen, changed) is not None:
                shown_apart.add(other)
    found = tuple(each for each in others if each in shown_apart)
    return Confirmed(posture, value, ran, tuple(refused), found, divergence)


def projected(trace: Trace) -> Seen:
    """Return what two engines can be compared by, of one trace."""
    words = OwnWords(trace)
    return [
        _entry(cast("dict[str, Any]", each), words)
        for each in comparable(trace)
        if each["kind"] not in NOTICES
    ]


def _entry(entry: dict[str, Any], words: OwnWords) -> dict[str, Json]:
    data: dict[str, Any] = words.without_any(entry["data"], entry["call_id"])
    if entry["kind"] == "build_error":
        data = {}
    elif entry["kind"] == "run_end" and data["status"] == "error":
        data = {"status": "error"}  # how far the history got is nobody's promise
    elif "error" in data and isinstance(data["error"], Mapping):
        error = cast("Mapping[str, Any]", data["error"])
        data = {"kind": data["kind"], "error": _point(error)}
    elif "stream" in data:
        pieces = map(parse_message, data.pop("stream"))
        data = {**data, "whole": whole(list(pieces))}  # where it is cut says nothing
    return {**entry, "data": data}


def _point(error: Mapping[str, Any]) -> Json:
    point = error["point"]
    if point in OWN_POINTS:
        return {"point": "engine"}
    return {"point": point, **{k: error[k] for k in ("of", "call") if k in error}}
