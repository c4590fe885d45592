"""Finding a mutant's witness: a search over generated worlds, then shrinking."""

from __future__ import annotations

import random
from typing import Any, Final

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.witness import Witness, refuted
from refengine.testing import Scenario
from refengine.testing.strategies import scenarios

EXAMPLES: Final = 5000
"""So many worlds are looked at before a mutant counts as not found."""
SEED: Final = 20260001


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
    return _found(mutant, examples, seed, Phase.generate, Phase.shrink)


def any_witness(
    mutant: Mutant, *, examples: int = EXAMPLES, seed: int = SEED
) -> Witness:
    """Return the first witness that is found, as it was; raises NotRefutedError."""
    return _found(mutant, examples, seed, Phase.generate)


def _found(mutant: Mutant, examples: int, seed: int, *phases: Phase) -> Witness:
    def refutes(scenario: Scenario) -> bool:
        return refuted(mutant, scenario) is not None

    worlds: dict[str, Any] = dict(mutant.worlds or {})
    try:
        scenario = find(
            scenarios(**worlds),
            refutes,
            settings=settings(
                max_examples=examples,
                database=None,
                deadline=None,
                phases=phases,
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
