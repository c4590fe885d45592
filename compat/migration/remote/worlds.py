"""Which worlds subjects behind drivers can be played in: those of both engines."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from compat.engines.capabilities import CapabilityError, refuse_undeclared
from compat.engines.needs import hidden_needs
from compat.migration.corpus import Corpus
from compat.migration.remote.easing import eased
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import Scenario
from refengine.testing.world import World

TEXTS: AbstractSet[str] = frozenset(("lone_surrogates",))
"""What drivers carry and a user's code cannot hold: its texts are UTF-8."""


def fitted(corpus: Corpus, declared: AbstractSet[str]) -> Corpus:
    """Return the worlds of a corpus that need no more than these capabilities.

    One that needs more for a reason beside the point is as near to it as can be.
    """
    can = frozenset(declared - TEXTS)

    def fits(world: Scenario) -> bool:
        return playable(world, can)

    worlds = (
        replace(each, scenario=eased(each.scenario, can, fits))
        for each in corpus.worlds
    )
    kept = tuple(each for each in worlds if fits(each.scenario))
    return replace(corpus, worlds=kept, fits=fits, slow=True)


def flow_fitted(corpus: Corpus) -> Corpus:
    """Return the worlds of a corpus that agents with sessions can be played in."""
    before = corpus.fits

    def fits(world: Scenario) -> bool:
        if before is not None and not before(world):
            return False
        needs = {need for need, _ in hidden_needs(world)}
        return len(world.all_agents) == 1 and needs.isdisjoint(TEXTS)

    kept = tuple(each for each in corpus.worlds if fits(each.scenario))
    return replace(corpus, worlds=kept, fits=fits, slow=True)


def playable(world: Scenario, declared: frozenset[str]) -> bool:
    """Tell whether engines that declare this can be asked for a world."""
    if any(need not in declared for need, _ in hidden_needs(world)):
        return False
    recorder = Recorder()
    try:
        for spec in world.all_agents:
            config = World(spec, world, recorder).config()
            refuse_undeclared("", declared, replace(config, checkpoints=None))
    except CapabilityError:
        return False
    return True
