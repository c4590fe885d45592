"""Witnesses: for every mutant the smallest world that is found to refute it.

A search over generated worlds, then shrinking; what was found is stored beside this.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import HypothesisWarning, NoSuchExample

from property_tests.mutants.mutant import Door, Mutant
from refengine.messages import Json
from refengine.profile import profile
from refengine.testing import (
    Divergence,
    Scenario,
    Trace,
    clock,
    first_divergence,
    play,
    read_scenario,
)
from refengine.testing.strategies import scenarios
from refengine.testing.trace import comparable

FILE: Final = Path(__file__).with_name("witnesses.json")
EXAMPLES: Final = 5000
"""So many worlds are looked at before a mutant counts as not found."""
SEED: Final = 20260001


@dataclass(frozen=True, slots=True)
class Witness:
    """A world, and where mutant and right engine first part in it.

    ``kind`` is that of the right engine's observation there.
    """

    mutant: str
    scenario: Scenario
    kind: str
    divergence: Divergence

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON values; what a scenario has by default is left out."""
        found = self.divergence
        return {
            "mutant": self.mutant,
            "scenario": small(self.scenario),
            "at": {"kind": self.kind, "index": found.index, "path": found.path},
            "right": found.left,
            "wrong": found.right,
        }


def small(scenario: Scenario) -> dict[str, Json]:
    """Return a scenario as JSON values without its defaults."""
    return cast(
        "dict[str, Json]", scenario.model_dump(mode="json", exclude_defaults=True)
    )


def played(scenario: Scenario, door: Door, under: str) -> Trace:
    """Play a scenario on a new engine of that door."""
    return clock.run(play(scenario, door(profile(under))))


def refuted(mutant: Mutant, scenario: Scenario) -> Witness | None:
    """Return the witness that the scenario is, None if the two do not part in it."""
    right = played(scenario, mutant.right, mutant.under)
    wrong = played(scenario, mutant.wrong, mutant.under)
    found = first_divergence(right, wrong)
    if found is None:
        return None
    entry = next(islice(comparable(right), found.index, None), {"kind": "the end"})
    return Witness(mutant.id, scenario, str(entry["kind"]), found)


def stored(path: Path = FILE) -> tuple[Witness, ...]:
    """Read the witnesses that were found last."""
    entries = cast("list[Mapping[str, Any]]", json.loads(path.read_text("utf-8")))
    return tuple(map(_read, entries))


def text_of(witnesses: Iterable[Witness]) -> str:
    """Return the witnesses as the text of their file."""
    entries = [each.as_json() for each in witnesses]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def _read(entry: Mapping[str, Any]) -> Witness:
    name = str(entry["mutant"])
    return Witness(
        name,
        read_scenario(entry["scenario"], f"witness of {name}"),
        str(entry["at"]["kind"]),
        Divergence(
            entry["at"]["index"], entry["at"]["path"], entry["right"], entry["wrong"]
        ),
    )


class NotRefutedError(AssertionError):
    """No world was found that tells a mutant from the right engine."""

    def __init__(self, mutant: Mutant, examples: int, seed: int) -> None:
        self.mutant = mutant
        super().__init__(
            f"{examples} worlds (seed {seed}) do not refute mutant {mutant.id!r}:"
            " let its worlds have what it gets wrong, or drop it"
        )


def smallest(mutant: Mutant, *, examples: int = EXAMPLES, seed: int = SEED) -> Witness:
    """Return the shrunk witness of a mutant; raises NotRefutedError."""

    def refutes(scenario: Scenario) -> bool:
        return refuted(mutant, scenario) is not None

    worlds: dict[str, Any] = dict(mutant.worlds or {})
    try:
        # Which worlds it meets depends on the constants of all modules that are loaded:
        # any new module may bring one that Hypothesis warns is long to write.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            scenario = find(
                scenarios(**worlds),
                refutes,
                settings=settings(
                    max_examples=examples,
                    database=None,
                    deadline=None,
                    phases=[Phase.generate, Phase.shrink],
                    suppress_health_check=[
                        HealthCheck.too_slow,
                        HealthCheck.data_too_large,
                    ],
                ),
                random=random.Random(seed),  # noqa: S311  # the same search each time
            )
    except NoSuchExample:
        raise NotRefutedError(mutant, examples, seed) from None
    witness = refuted(mutant, scenario)
    if witness is None:
        raise AssertionError(mutant.id)  # a world is played the same way each time
    return witness
