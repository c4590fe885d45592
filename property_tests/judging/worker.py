"""The child that has an engine: it plays worlds and says what they decide.

The parent never imports an engine, so nothing that an engine does on import can change
the corpus, and one that hangs or exits is ended and named. Its functions are served as
those of ``refengine.testing.child``, so whatever the engine prints is neither a reply
nor a crash.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from compat.engines.load_errors import LoadError
from compat.engines.loading import LoadedEngine, load_engine
from compat.engines.needs import is_crowded
from compat.engines.reference import ReferenceDoor
from compat.migration.shrink import ShrinkEffort, shrink
from compat.verdicts.conformance import ClauseFailure
from property_tests.blocking import divergence, right_player, stopped
from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld, StoredCorpus
from property_tests.judging.world import Judged, decide, judge, settle, sweep
from property_tests.playing import VariantPlayer, WorldRefusedError
from property_tests.wording import failure_of, lines
from refengine.errors import UnknownProfileError
from refengine.testing import Scenario
from refengine.testing.child import CallError, Connection, Function, Params
from refengine.testing.scenario_files import read_scenario

Reply: TypeAlias = "dict[str, Any]"

EFFORT: Final = ShrinkEffort(250)
"""So many smaller worlds are tried for one failure; fixed cases are small already."""
AGAIN: Final = 20
"""A world is played so often until it fails again."""
LUCK: Final = (
    "it failed in a world and, played there again, did not: what it does is luck"
)
"""An engine on virtual time, in a scripted world, has nothing to make a choice by."""


class EngineWorker:
    """One engine, the worlds it is judged in, and the checks that judge it."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self._about = about
        self._judged = 0
        clauses = set(about["clauses"])
        self._checks = [each for each in CHECKS if each.clause in clauses]

    @cached_property
    def loaded(self) -> LoadedEngine:
        """The engine; raises LoadError or UnknownProfileError."""
        return load_engine(self._about["engine"], self._about["profile"])

    @cached_property
    def player(self) -> VariantPlayer:
        """What plays worlds on the engine."""
        loaded = self.loaded
        return VariantPlayer(loaded.engine, loaded.profile, loaded.capabilities)

    @cached_property
    def right(self) -> VariantPlayer:
        """What plays worlds on the reference engine under the same profile."""
        return right_player(self.player)

    @cached_property
    def first(self) -> StoredCorpus:
        """The first worlds, as the parent wrote them before it drew the others."""
        return self._stored("first")

    @cached_property
    def corpus(self) -> StoredCorpus:
        """All worlds, as the parent wrote them."""
        return self._stored("corpus")

    def _stored(self, name: str) -> StoredCorpus:
        found = StoredCorpus(Path(self._about[name]).read_text("utf-8"))
        settle()
        return found

    @cached_property
    def applying(self) -> list[Check]:
        """The checks that apply to what the engine declares."""
        found = self.loaded.capabilities
        return [each for each in self._checks if each.applies(found)]

    def load(self, _: Mapping[str, Any]) -> Reply:
        """Say what the engine is, and which checks apply to it."""
        loaded = self.loaded
        return {
            "name": loaded.name,
            "profile": loaded.profile.name,
            "version": loaded.version,
            "capabilities": sorted(loaded.capabilities),
            "applying": [each.clause for each in self.applying],
            "right": type(loaded.engine) is ReferenceDoor,
        }

    def smoke(self, _: Mapping[str, Any]) -> Reply:
        """Check the door, and probe what the engine declares."""
        from property_tests.probing import probe  # noqa: PLC0415  # once an engine
        from property_tests.smoke import smoke  # noqa: PLC0415  # once an engine

        absent, undeclared = probe(self.loaded)
        return {
            "smoke": [each.model_dump(mode="json") for each in smoke(self.loaded)],
            "absent": sorted(absent),
            "undeclared": sorted(undeclared),
        }

    def judge(self, request: Mapping[str, Any]) -> Reply:
        """Judge one world of the corpus."""
        return self._swept(judge(self.player, self._world(request), self.applying))

    def reference(self, request: Mapping[str, Any]) -> Reply:
        """Say which of these clauses a world decides on the reference engine.

        It shows what this profile gives a meaning, and judges nobody.
        """
        clauses = set(request["clauses"])
        checks = [each for each in self.applying if each.clause in clauses]
        return self._swept(judge(self.right, self._world(request), checks))

    def _swept(self, judged: Judged) -> Reply:
        """Return what a world decided, once what it left is gone."""
        reply = reply_of(judged)
        self._judged += 1
        sweep(self._judged)
        return reply

    def failure(self, request: Mapping[str, Any]) -> Reply:
        """Return the failure of a clause in a world, made as small as it gets."""
        clause = str(request["clause"])
        check = next(each for each in self._checks if each.clause == clause)
        entry = self._world(request)
        small = entry.scenario
        if not is_crowded(small):
            small = shrink(
                entry.scenario, lambda world: self._fails(check, world), EFFORT
            )
        case = self.player.case(small, check.variants)
        decision = self._first(check, case)
        for _ in range(AGAIN):
            if decision is not None:
                return {"failure": self._told(case, decision).model_dump(mode="json")}
            case = self.player.case(entry.scenario, check.variants)
            decision = self._first(check, case)
        return {"lost": LUCK}

    def blocked(self, request: Mapping[str, Any]) -> Reply:
        """Return where the engine stops in a world that would decide a clause."""
        clause = str(request["clause"])
        check = next(each for each in self._checks if each.clause == clause)
        world = self._world(request).scenario
        if not is_crowded(world):
            still = self._stopped
            world = shrink(world, lambda e: still(check, e) is not None, EFFORT)
        failure = self._stopped(check, world)
        return {} if failure is None else {"failure": failure.model_dump(mode="json")}

    def replay(self, request: Mapping[str, Any]) -> Reply:
        """Say whether a clause fails in a given scenario, or is blocked, and how."""
        clause = str(request["clause"])
        check = next((each for each in CHECKS if each.clause == clause), None)
        if check is None:
            return {"lost": f"there is no check of {clause}"}
        scenario = read_scenario(request["scenario"], f"pinned case of {clause}")
        try:
            case = self.player.case(scenario, check.variants)
        except WorldRefusedError as error:
            return {"lost": str(error)}
        decided = list(check.decisions(case))
        failed = next((each for each in decided if not each.holds), None)
        found: Reply = {"fails": failed is not None, "decided": len(decided)}
        if failed is not None:
            found["failure"] = failure_of(case, failed).model_dump(mode="json")
        elif (stop := stopped(check, case, self.right)) is not None:
            found["blocked"] = stop.model_dump(mode="json")
        return found

    def trace(self, request: Mapping[str, Any]) -> Reply:
        """Return every observation of a variant of a scenario, one line each."""
        scenario = read_scenario(request["scenario"], "the world to show")
        case = self.player.case(scenario, (request["variant"],))
        return {"lines": lines(case[request["variant"]].trace)}

    def _world(self, request: Mapping[str, Any]) -> CorpusWorld:
        at: int = request["world"]
        return (self.first if at < self.first.size else self.corpus).world(at)

    def _fails(self, check: Check, world: Scenario) -> bool:
        if not check.meant(world):
            return False
        try:
            case = self.player.case(world, check.variants)
            return check.clause in decide(case, [check]).failed
        except Exception:  # noqa: BLE001  # then it is another failure
            return False

    def _stopped(self, check: Check, world: Scenario) -> ClauseFailure | None:
        if not check.meant(world):
            return None
        try:
            case = self.player.case(world, check.variants)
            return stopped(check, case, self.right)
        except Exception:  # noqa: BLE001  # then it is stopped by something else
            return None

    def _told(self, case: PlayedWorld, decision: Decision) -> ClauseFailure:
        """Return a failure, with where the engine first does otherwise in its world."""
        found = divergence(self.right, case, decision.variant)
        return failure_of(case, decision).model_copy(update={"divergence": found})

    def _first(self, check: Check, case: PlayedWorld) -> Decision | None:
        return next((each for each in check.decisions(case) if not each.holds), None)


def reply_of(judged: Judged) -> Reply:
    """Return what a world decided, as a reply."""
    return {
        "decided": dict(judged.decided),
        "failed": list(judged.failed),
        "errors": dict(judged.errors),
        "refused": judged.refused,
    }


def functions(worker: EngineWorker) -> Mapping[str, Function]:
    """Return what can be called."""
    named = (
        worker.load,
        worker.smoke,
        worker.judge,
        worker.reference,
        worker.failure,
        worker.blocked,
        worker.replay,
        worker.trace,
    )
    return {each.__name__: _guarded(each) for each in named}


def _guarded(function: Callable[[Params], Reply]) -> Function:
    def guarded(params: Params) -> Reply:
        try:
            return function(params)
        except (LoadError, UnknownProfileError) as error:
            raise CallError(str(error), {"kind": "usage"}) from error
        except Exception as error:  # of the engine, its door, or us
            raise CallError(f"{type(error).__name__}: {error}") from error

    return guarded


def main() -> None:
    """Serve; the working directory is the user's, as where Python runs a module."""
    sys.path.insert(0, "")
    table: dict[str, Function] = {}
    table["initialize"] = lambda about: table.update(functions(EngineWorker(about)))
    Connection(table).serve()
