"""Generated worlds that fail, stop and are cancelled show small faults by themselves.

Each fault below is in one place only: a retry with options, a second iteration, a run
that streams.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld
from property_tests.defaults import SEED
from property_tests.generating import happening
from property_tests.judging.world import judge
from property_tests.mutants.patching import Patch, PatchedEngine
from property_tests.mutants.steps import EngineStep
from property_tests.playing import VariantPlayer
from refengine.loop import Loop
from refengine.model_calls import Attempts
from refengine.profile import SEED_001
from refengine.resume.keeper import KeptRun
from refengine.testing.doors import ReferenceEngine


def _without_options(right: Any) -> Any:
    """Ask a model for the third time without the options of the run."""

    def new_attempt(self: Any) -> Any:
        model_at = self._retry.model_at
        if self.number > 2 and model_at(self.number) == model_at(self.number - 2):
            self._request = replace(self._request, options={})
        return right(self)

    return new_attempt


def _counted_anew(right: Any) -> Any:
    """Go on in the first iteration, whichever it was."""

    async def begin(self: Any) -> Any:
        part = await right(self)
        self.loop.iterations = min(self.loop.iterations, 1)
        return part

    return begin


def _dangling_streamed(right: Any) -> Any:
    """Leave calls without a result in runs that stream."""

    def left_whole(self: Any) -> Any:
        return self.history if self.streaming else right(self)

    return left_whole


FAULTS = {
    "ERR-026": Patch(EngineStep(Attempts, "_new_attempt"), _without_options),
    "INT-019": Patch(EngineStep(KeptRun, "begin"), _counted_anew),
    "RUN-023": Patch(EngineStep(Loop, "left_whole"), _dangling_streamed),
}


@pytest.fixture(scope="module")
def made() -> list[CorpusWorld]:
    return list(happening(0.5, SEED))


@pytest.mark.parametrize("clause", FAULTS)
def test_a_small_fault_is_shown_without_a_fixed_case(
    clause: str, made: list[CorpusWorld]
) -> None:
    player = VariantPlayer(PatchedEngine("wrong", SEED_001, [FAULTS[clause]]), SEED_001)
    named = [each for each in CHECKS if each.clause == clause]

    assert any(judge(player, each, named).failed for each in made)


def test_the_reference_engine_is_right_in_them(made: list[CorpusWorld]) -> None:
    player = VariantPlayer(ReferenceEngine(SEED_001), SEED_001)

    assert not any(judge(player, each, CHECKS).failed for each in made)
