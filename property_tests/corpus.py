"""The corpus of a judgement: fixed cases and generated worlds, as data with a hash.

Fixed cases stand in ``property_tests/fixed``, one file a family; each belongs to the
clause that it is the shortest example of. Generated worlds are drawn by ``generating``,
which needs Hypothesis and runs where no engine is imported; those of the default
judgement ship (``drawn_worlds``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, read_scenario

VERSION: Final = 1
FIXED: Final = Path(__file__).with_name("fixed")
NARROWED: Final = Path(__file__).with_name("narrowed.json")
REPEATED: Final = ("middlewares", "handlers")
"""The lists of an agent whose last entry a world may have stand many times."""

CANCELLING: Final = (
    *("ERR-022", "RUN-016", "RUN-022", "RUN-023", "RUN-024", "RUN-025", "RUN-026"),
    "RUN-027",
)
RETRYING: Final = (
    *("STR-005", "STR-022", "STR-023", "ERR-026", "ERR-027", "ERR-028", "ERR-029"),
    *("ERR-030", "ERR-032", "ERR-033", "RUN-016"),
)
STOPPING: Final = ("INT", "SER", "RUN-016", "RUN-022")
"""Whom worlds are for in which runs are cancelled, models asked again, and runs
interrupted and resumed: what else is asked of a run is asked of one that goes through.
"""


@dataclass(frozen=True, slots=True)
class CorpusWorld:
    """One world: what is played, where it comes from, and who looks at it.

    ``clause`` is the one it is an example of, "" for none. ``only`` are families of
    clauses, and clauses: a world of ten thousand handlers is judged by the checks it is
    made for. ``varied`` are those that may have it played in other variants, None for
    all: where a run stops often depends on what a variant changes.
    ``repeat`` says how often the last entry of a list of the agent stands there in all:
    such a world is written with that entry once. ``recorded`` names the session it is,
    or is made of; "" for a world that nobody ever had. ``lot`` says in which
    variants it is played, of those that worlds share (``variants.LOTS``); None: in all.
    """

    scenario: Scenario
    family: str
    fixed: bool
    clause: str = ""
    only: tuple[str, ...] = ()
    varied: tuple[str, ...] | None = None
    repeat: tuple[tuple[str, int], ...] = ()
    recorded: str = ""
    lot: int | None = None

    @property
    def written(self) -> Scenario:
        """The scenario as it is written: what is repeated stands there once."""
        agent = self.scenario.agent
        lists = {
            name: getattr(agent, name)[: 1 - often or None]
            for name, often in self.repeat
        }
        if agent is None or not lists:
            return self.scenario
        return self.scenario.model_copy(
            update={"agent": agent.model_copy(update=lists)}
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, without what a scenario has by default."""
        scenario = self.written.model_dump(mode="json", exclude_defaults=True)
        entry: dict[str, Any] = {"family": self.family, "fixed": self.fixed}
        if self.clause:
            entry["clause"] = self.clause
        if self.only:
            entry["only"] = list(self.only)
        if self.varied is not None:
            entry["varied"] = list(self.varied)
        if self.repeat:
            entry["repeat"] = dict(self.repeat)
        if self.recorded:
            entry["recorded"] = self.recorded
        if self.lot is not None:
            entry["lot"] = self.lot
        return {**entry, "scenario": scenario}


@dataclass(frozen=True)
class SuiteCorpus:
    """The worlds of one judgement; the fixed ones come first."""

    worlds: tuple[CorpusWorld, ...]
    seed: int

    @property
    def fixed(self) -> int:
        """So many of the worlds are fixed cases."""
        return sum(each.fixed for each in self.worlds)

    @property
    def recorded(self) -> int:
        """So many are recorded sessions, or made of them."""
        return sum(bool(each.recorded) for each in self.worlds)

    @cached_property
    def json(self) -> str:
        """The corpus as canonical JSON: sorted keys, no spaces, ASCII, no defaults."""
        worlds = [each.as_json() for each in self.worlds]
        data = {"version": VERSION, "seed": self.seed, "worlds": worlds}
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of that JSON, in hexadecimal digits."""
        return sha256(self.json.encode()).hexdigest()


def narrowed(path: Path = NARROWED) -> Mapping[str, int]:
    """Return how many worlds are drawn around the cases of clauses met too seldom.

    ``python -m tools.coverage`` counts and writes them.
    """
    found: Mapping[str, int] = json.loads(path.read_text("utf-8"))
    return found


def fixed_worlds(folder: Path = FIXED) -> Iterator[CorpusWorld]:
    """Yield the fixed cases of every family, in the order of their files.

    Raises ScenarioError for a case that is not a scenario.
    """
    for path in sorted(folder.glob("*.json")):
        yield from _entries(json.loads(path.read_text("utf-8")), path.stem, fixed=True)


def read_corpus(text: str) -> SuiteCorpus:
    """Return the corpus that ``SuiteCorpus.json`` wrote; raises ScenarioError."""
    stored = StoredCorpus(text)
    return SuiteCorpus(tuple(map(stored.world, range(stored.size))), stored.seed)


class StoredCorpus:
    """A corpus as ``SuiteCorpus.json`` wrote it, whose worlds are read one by one.

    A worker judges some of them, and to read them all takes as long as to judge 100.
    """

    def __init__(self, text: str) -> None:
        data: dict[str, Any] = json.loads(text)
        self._worlds: list[Mapping[str, Any]] = data["worlds"]
        self.seed: int = data["seed"]

    @property
    def size(self) -> int:
        """So many worlds there are."""
        return len(self._worlds)

    def world(self, at: int) -> CorpusWorld:
        """Read a world by its place; raises ScenarioError."""
        data = self._worlds[at]
        return _entry(data, data["family"], data["fixed"])


def _entries(
    data: Iterable[Mapping[str, Any]], family: str, *, fixed: bool
) -> Iterator[CorpusWorld]:
    for each in data:
        yield _entry(each, family, fixed)


def _entry(
    data: Mapping[str, Any], family: str, fixed: bool
) -> CorpusWorld:  # as it is written
    clause = str(data.get("clause", ""))
    where = f"world of {clause or family!r}"
    scenario = read_scenario(data["scenario"], where)
    repeat: dict[str, int] = dict(data.get("repeat", {}))
    whole = repeated(scenario, repeat, where)
    varied: list[str] | None = data.get("varied")
    return CorpusWorld(
        whole,
        family,
        fixed,
        clause,
        only=tuple(data.get("only", ())),
        varied=None if varied is None else tuple(varied),
        repeat=tuple(sorted(repeat.items())),
        recorded=str(data.get("recorded", "")),
        lot=data.get("lot"),
    )


def repeated(scenario: Scenario, repeat: Mapping[str, int], where: str) -> Scenario:
    """Let the last entry of these lists stand so often in all; raises ScenarioError."""
    agent = scenario.agent
    for name, often in repeat.items():
        if name not in REPEATED:
            problem = f"repeat.{name}: there are {' and '.join(REPEATED)}"
        elif type(often) is not int or often < 1:
            problem = f"repeat.{name}={often!r}: give a whole number of at least 1"
        elif agent is None or not getattr(agent, name):
            problem = f"repeat.{name}: the scenario's 'agent' has no {name} to repeat"
        else:
            found = cast("tuple[object, ...]", getattr(agent, name))
            agent = agent.model_copy(update={name: (*found, *found[-1:] * (often - 1))})
            continue
        raise ScenarioError(where, [problem])
    return scenario if agent is None else scenario.model_copy(update={"agent": agent})
