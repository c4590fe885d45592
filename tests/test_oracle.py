"""What the reference shows for each clause in its own worlds, as it was once reviewed.

Engines are judged by comparison with the reference, so a fault of the reference would
become right: here it shows. After a change that is meant, write the files anew and read
what changed in them:

    python -m tests.test_oracle
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain, starmap
from pathlib import Path

import pytest

from compat.profiles.kinds import KINDS
from property_tests.corpus import CorpusWorld, fixed_worlds
from property_tests.dialects.dialect import RefusedWorldError
from property_tests.dialects.dialects import dialect_named, dialects
from property_tests.oracle import agents_oracle, compared_clauses
from refengine.profile import PROFILES, SEED_001

GOLDEN = Path(__file__).parent / "golden" / "oracle"
JUDGED = [each.name for each in dialects()]
UNDER = [(kind.key, each.name) for kind in KINDS[1:] for each in kind.profiles]
MUTANTS = [
    pytest.param(name, mutant, id=mutant.id)
    for name in JUDGED
    for mutant in dialect_named(name).mutants
]


def shown(name, door) -> Iterator[tuple[str, str]]:
    """Yield what each clause compares in each of its own worlds, and of which one."""
    dialect = dialect_named(name)
    clauses = {each.clause: each for each in dialect.checks}
    numbers: dict[str, int] = {}
    for world in dialect.fixed():
        clause = clauses[world.clause]
        number = numbers[world.clause] = numbers.get(world.clause, 0) + 1
        where = f"{world.clause} world {number}"
        try:
            seen = dialect.entries(door.play(world.scenario), world.scenario)
        except RefusedWorldError:
            yield where, '"refused"'
        else:
            yield where, written(clause, seen)


def shown_by_dialect(name) -> Iterator[tuple[str, str]]:
    """Yield it under its own profile, and under the others where that differs."""
    usual = dict(shown(name, reference(name)))
    yield from usual.items()
    for each in (under for dialect, under in UNDER if dialect == name):
        found = shown(name, reference(name, each))
        yield from ((f"{at} {each}", text) for at, text in found if text != usual[at])


def agents_worlds() -> dict[str, CorpusWorld]:
    """Return the worlds of clauses that are compared, under their names here."""
    every = {each.clause for each in compared_clauses()}
    numbers: Counter[str] = Counter()
    found: dict[str, CorpusWorld] = {}
    for world in (each for each in fixed_worlds() if each.clause in every):
        numbers[world.clause] += 1
        found[f"{world.clause} world {numbers[world.clause]}"] = world
    return found


def shown_by_agents(where, world) -> Iterator[tuple[str, str]]:
    """Yield the same of agents with hooks, under other profiles where that differs."""
    [clause] = [each for each in compared_clauses() if each.clause == world.clause]
    oracle = agents_oracle()
    told = {
        under.name: written(
            clause, oracle.right(world.scenario, under, frozenset()).entries
        )
        for under in _profiles(world)
    }
    usual = told.pop(SEED_001.name, None)
    yield from () if usual is None else [(where, usual)]
    yield from ((f"{where} {e}", text) for e, text in told.items() if text != usual)


def _profiles(world):
    """Return those that a world is shown under: one, if only a few clauses look."""
    if world.only:
        return () if world.repeat else (SEED_001,)
    return PROFILES


def written(clause, entries) -> str:
    """Return the lanes of a clause's projections as one line of JSON."""
    found = [
        {" ".join(key): lane.entries for key, lane in each.lanes_of(entries).items()}
        for each in clause.about.compares
    ]
    return line_of(found)


def line_of(value) -> str:
    """Return JSON in one line, a lone surrogate as an escape."""
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def reference(name, under=None):
    """Return the reference of a dialect with all it can do, under its own profile."""
    door = dialect_named(name).load(name, under)
    assert door.name == name
    return door


@cache
def golden(name) -> dict[str, str]:
    lines = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    return {key: line_of(each) for key, each in lines.items()}


def reviewed(where) -> dict[str, str]:
    """Return what agents were seen to show in one world."""
    lines = golden("agents").items()
    return {key: text for key, text in lines if f"{key} ".startswith(f"{where} ")}


AGENTS = agents_worlds()


@pytest.mark.parametrize(("name", "under"), UNDER)
def test_the_reference_shows_what_was_reviewed(name, under) -> None:
    kept = golden(name)
    usual = [each for each in kept if each.partition(" world ")[2].isdigit()]
    found = dict(shown(name, reference(name, under)))

    assert found == {each: kept.get(f"{each} {under}", kept[each]) for each in usual}


@pytest.mark.parametrize("where", AGENTS)
def test_the_reference_of_agents_shows_what_was_reviewed(where) -> None:
    assert dict(shown_by_agents(where, AGENTS[where])) == reviewed(where)


def test_what_was_reviewed_is_of_worlds_that_there_are() -> None:
    found = chain.from_iterable(map(reviewed, AGENTS))

    assert {*found} == golden("agents").keys()


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("name", "mutant"), MUTANTS)
def test_a_fault_of_the_reference_shows_in_what_was_reviewed(name, mutant) -> None:
    found = shown(name, mutant.door())

    assert any(text != golden(name)[world] for world, text in found)


def test_a_number_in_the_place_of_true_is_a_difference() -> None:
    dialect = dialect_named("callbacks")
    [clause] = [each for each in dialect.checks if each.clause == "CB-004"]
    world = [each.scenario for each in dialect.fixed() if each.clause == "CB-004"][1]
    door = reference("callbacks")
    right = dialect.oracle.right(world, door.profile, door.capabilities)
    seen = json.loads(json.dumps(right.entries))
    [first, *_] = [each for each in seen if each.get("callback") == "on_agent_step"]
    first["data"][0] = True

    assert first["data"][0] == 1
    assert not all(each.holds for each in clause.decisions(right, seen))


def main() -> None:
    """Write what is golden anew."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    every = {name: shown_by_dialect(name) for name in JUDGED}
    every["agents"] = chain.from_iterable(starmap(shown_by_agents, AGENTS.items()))
    for name, found in every.items():
        rows = [f"{json.dumps(key)}: {text}" for key, text in found]
        body = ",\n".join(rows)
        (GOLDEN / f"{name}.json").write_text(f"{{\n{body}\n}}\n", "utf-8")


if __name__ == "__main__":
    main()
