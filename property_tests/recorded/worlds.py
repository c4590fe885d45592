"""The recorded worlds of a corpus: sessions as they were, and grafts of them.

Nothing is drawn by Hypothesis, so they are there without it; a seed and the name of a
session decide what is grafted on. A judgement has to stay short: all sessions are
played as they were, and of each kind of graft there are so many, of other sessions for
another seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from compat.engines.needs import hidden_needs
from compat.models.errors import UnusedFileError
from compat.models.importing import ImportedFile, given_worlds
from compat.models.shipped import shipped_files
from compat.verdicts.migration import GivenWorlds
from property_tests.corpus import CANCELLING, RETRYING, STOPPING, CorpusWorld
from property_tests.recorded.cutting import cancelled, cut_elsewhere, kept
from property_tests.recorded.keeping import POINTS, cut_at, points_of
from property_tests.recorded.surrounding import MANY, crowded, merged, ordered
from refengine.testing.scenario import Scenario
from refengine.testing.strategies.variants import with_identity
from refengine.testing.subject_worlds.words import Dice

AS_IT_WAS: Final = "recorded"
"""The family of the sessions themselves; names of grafts begin with it."""
TURNS: Final = 2
"""So often a kind of graft goes through all sessions, if there are few."""
LONG: Final = 100_000
"""Nothing is grafted on a session of more characters: it is played as it was."""
CROWDED: Final = 2
"""So many sessions stand among a thousand handlers; the shortest are chosen."""
OF_CROWDS: Final = (
    *("ORD-001", "ORD-003", "ORD-009", "ORD-011", "MSG-003", "MSG-004", "MSG-011"),
    *("EVT-001", "EVT-004", "RUN-016"),
)
"""Which clauses look at those: enough to see that each handler has its turn."""


@dataclass(frozen=True, slots=True)
class NamedSession:
    """A recorded session, by the file it stands in and where."""

    name: str
    scenario: Scenario


def recorded_worlds(
    seed: int, given: Sequence[ImportedFile] = ()
) -> Iterator[CorpusWorld]:
    """Yield the worlds of a user's files, and of the sessions that ship.

    A session that is there twice is one of the first file that has it, a user's before
    ours. Raises UnusedFileError for a file without one of its own, and
    MissingSessionsError.
    """
    seen: set[str] = set()
    for file in given:
        own = [*_sessions(file, seen)]
        if not own:
            raise UnusedFileError(file.name, "its sessions are in another file")
        yield from worlds_of(own, seed)
    ours = chain.from_iterable(_sessions(each, seen) for each in shipped_files())
    yield from worlds_of([*ours], seed)


def given_counts(
    given: Sequence[ImportedFile], worlds: Sequence[CorpusWorld]
) -> Iterator[GivenWorlds]:
    """Yield for each file in how many worlds it is, as it is and made from."""
    for file in given:
        own = [each for each in worlds if each.recorded.startswith(f"{file.name}, ")]
        own += [each for each in worlds if each.recorded == file.name]
        played = sum(each.family == AS_IT_WAS for each in own)
        made = len(own) - played
        yield given_worlds(file, played, made)


def _sessions(file: ImportedFile, seen: set[str]) -> Iterator[NamedSession]:
    for world in file.worlds:
        text = _text(world.scenario)
        if text not in seen:
            seen.add(text)
            where = f", {world.where}" if world.where else ""
            yield NamedSession(f"{file.name}{where}", world.scenario)


def _text(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude_defaults=True)


def worlds_of(sessions: Sequence[NamedSession], seed: int) -> Iterator[CorpusWorld]:
    """Yield the worlds of these sessions: each as it was, then what is made of them."""
    for each in sessions:
        yield _world(each, AS_IT_WAS, each.scenario, meant_for(each.scenario))
    short = [each for each in sessions if len(_text(each.scenario)) <= LONG]
    usual = [each for each in short if not meant_for(each.scenario)]
    yield from _grafts(usual, seed)
    for each in sorted(usual, key=lambda each: len(_text(each.scenario)))[:CROWDED]:
        crowd = _world(each, f"{AS_IT_WAS}, crowded", crowded(each.scenario), OF_CROWDS)
        yield replace(crowd, repeat=(("handlers", MANY),))


def meant_for(scenario: Scenario) -> tuple[str, ...]:
    """Return which clauses look at a session as it was, () for all."""
    needs = {capability for capability, _ in hidden_needs(scenario)}
    found = {
        "resume": STOPPING,
        "cancellation": CANCELLING,
        "retry": RETRYING,
        "many_extensions": OF_CROWDS,
    }
    return next((found[each] for each in found if each in needs), ())


def _world(
    session: NamedSession, family: str, scenario: Scenario, only: tuple[str, ...]
) -> CorpusWorld:
    return CorpusWorld(scenario, family, fixed=False, only=only, recorded=session.name)


@dataclass(frozen=True, slots=True)
class GraftKind:
    """A kind of graft: what makes one, and of how many sessions there is one.

    ``make`` returns None for a session of which none can be made; ``only`` is whom the
    world is for, () for all.
    """

    name: str
    count: int
    make: Callable[[Scenario, Dice], Scenario | None]
    only: tuple[str, ...] = ()


def _one_handler(scenario: Scenario, _: Dice) -> Scenario:
    return with_identity(scenario, 0)


def _one_point(scenario: Scenario, dice: Dice) -> Scenario | None:
    points = points_of(scenario)
    return cut_at(scenario, {dice.pick(points)}, dice) if points else None


def _every_point(scenario: Scenario, dice: Dice) -> Scenario | None:
    return cut_at(scenario, set(POINTS), dice)


KINDS: Final = (
    GraftKind("order", 20, ordered),
    GraftKind("tools", 20, merged),
    GraftKind("cut elsewhere", 20, cut_elsewhere),
    GraftKind("one handler", 10, _one_handler),
    GraftKind("kept", 10, kept),
    GraftKind("cancelled", 20, cancelled, CANCELLING),
    GraftKind("one point", 30, _one_point, STOPPING),
    GraftKind("every point", 8, _every_point, STOPPING),
)


def _grafts(sessions: Sequence[NamedSession], seed: int) -> Iterator[CorpusWorld]:
    """Yield so many grafts of each kind, of as many sessions as there can be."""
    for kind in KINDS:
        found = islice(_of_kind(kind, sessions, seed), kind.count)
        yield from (replace(world, lot=lot) for lot, world in enumerate(found))


def _of_kind(
    kind: GraftKind, sessions: Sequence[NamedSession], seed: int
) -> Iterator[CorpusWorld]:
    """Yield grafts of a kind, of one session after the other, and then again."""
    for turn in range(TURNS):
        for session in Dice(f"{seed}/{kind.name}").shuffled(sessions):
            dice = Dice(f"{seed}/{kind.name}/{turn}/{session.name}")
            made = kind.make(session.scenario, dice)
            if made is not None and made != session.scenario:
                yield _world(session, f"{AS_IT_WAS}, {kind.name}", made, kind.only)
