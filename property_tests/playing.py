"""Playing one world on one engine, in each variant that some check needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet

from compat.adapters import adapt
from compat.engines.adapted import with_handlers
from compat.engines.capabilities import CAPABILITIES, CapabilityError, refusal_of
from compat.engines.needs import hidden_needs
from property_tests.check import PLAYED, PlayedWorld
from property_tests.dialects.compared import Oracle
from property_tests.joining import joined
from property_tests.oracle import WorldBeside, agents_oracle
from property_tests.placing import place_events
from property_tests.reducing import reduced
from property_tests.variants import ADAPTED, AGAIN, CHANGES
from property_tests.view import View, view
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.testing import Engine, Scenario, Trace, clock, play
from refengine.testing.doors import EngineAgent


class WorldRefusedError(Exception):
    """The engine has no place for a world: it needs what is not declared."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


class StructsAdapted:
    """An engine that is given its struct middlewares as adapted handlers.

    The adapter is not the engine's, so any engine with handlers can be asked whether
    adapted structs do in it what native ones do (contract COMPAT).
    """

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._engine = engine
        self._profile = profile
        self.name = engine.name

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent of the adapted configuration."""
        adapted = with_handlers(config, adapt, self._profile)
        return await self._engine.build(adapted, on_notice)


class VariantPlayer:
    """Plays worlds on one engine under one profile.

    Worlds are cut down to its capabilities first; None stands for all there are.
    ``oracle`` says what is right in them: one that several players share.
    """

    def __init__(
        self,
        engine: Engine,
        profile: Profile,
        capabilities: AbstractSet[str] | None = None,
        oracle: Oracle | None = None,
    ) -> None:
        self.engine = engine
        self.oracle = oracle or agents_oracle()
        self.profile = profile
        self.capabilities = frozenset(
            CAPABILITIES if capabilities is None else capabilities
        )
        self._whole = self.capabilities.issuperset(CAPABILITIES)
        self._adapted = StructsAdapted(engine, profile)
        self._loops = clock.Loops()

    def case(self, scenario: Scenario, variants: Collection[str] = ()) -> PlayedWorld:
        """Play a scenario and these variants of it; raises WorldRefusedError.

        A variant that is equal to the scenario is not played again, and one that the
        engine refuses is left out.
        """
        given, scenario = scenario, self._reduced(scenario)
        self._refuse(scenario)
        first = self.played(scenario)
        why = refusal_of(first)
        if why is not None:
            raise WorldRefusedError(why)
        views = {PLAYED: self.viewed(scenario, first, PLAYED)}
        for variant in variants:
            found = self._variant(variant, scenario, first)
            if found is not None:
                views[variant] = found
        whole = dict(_whole(views)) if scenario.keeps else None
        cut = scenario is not given
        beside = self._beside(scenario, first)
        return PlayedWorld(
            scenario, self.profile, views, whole, cut=cut, compared=beside
        )

    def _beside(self, scenario: Scenario, trace: Trace) -> WorldBeside:
        return WorldBeside(
            self.oracle, scenario, trace, self.profile, self.capabilities
        )

    def _reduced(self, scenario: Scenario) -> Scenario:
        return scenario if self._whole else reduced(scenario, self.capabilities)

    def _refuse(self, scenario: Scenario) -> None:
        """Raise WorldRefusedError for what only playing it would show to be lacking."""
        if self._whole:
            return
        for capability, where in hidden_needs(scenario):
            if capability not in self.capabilities:
                error = CapabilityError(self.engine.name, capability, where)
                raise WorldRefusedError(str(error))

    def _variant(self, variant: str, scenario: Scenario, first: Trace) -> View | None:
        changed = CHANGES[variant](scenario)
        if changed is None:
            return None
        changed = self._reduced(changed)
        if variant not in {AGAIN, ADAPTED} and changed == scenario:
            return self.viewed(scenario, first, variant)
        trace = self.played(changed, adapted=variant == ADAPTED)
        if refusal_of(trace) is not None:
            return None
        return self.viewed(changed, trace, variant)

    def played(self, scenario: Scenario, *, adapted: bool = False) -> Trace:
        """Play a scenario as it is, on the engine or with its structs adapted."""
        engine: Engine = self._adapted if adapted else self.engine
        return self._loops.run(play(scenario, engine))

    def viewed(self, scenario: Scenario, trace: Trace, variant: str) -> View:
        """Read a trace of a scenario."""
        found = view(scenario, self.profile, trace, variant)
        if found.late:
            place_events(found)
        return found


def _whole(views: Mapping[str, View]) -> Iterator[tuple[str, View]]:
    """Yield the views of whole runs, where their parts make one."""
    for variant, each in views.items():
        found = joined(each)
        if found is not None:
            yield variant, found
