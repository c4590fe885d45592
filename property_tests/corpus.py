"""The corpus of a judgement: fixed cases and generated worlds, as data with a hash.

Fixed cases stand in ``property_tests/fixed``, one file a family; each belongs to the
clause that it is the shortest example of. Generated worlds come from ``generating``,
which needs Hypothesis and runs in a process of its own before an engine is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from refengine.testing.reading import read_scenario
from refengine.testing.scenario import Scenario

VERSION: Final = 1
FIXED: Final = Path(__file__).with_name("fixed")


@dataclass(frozen=True, slots=True)
class Entry:
    """One world: what is played, where it comes from, and who looks at it.

    ``clause`` is the one it is an example of, "" for none. ``only`` are families of
    clauses: a world of ten thousand handlers is judged by the checks it is made for.
    """

    scenario: Scenario
    family: str
    fixed: bool
    clause: str = ""
    only: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, without what a scenario has by default."""
        scenario = self.scenario.model_dump(mode="json", exclude_defaults=True)
        told: dict[str, Any] = {"family": self.family, "fixed": self.fixed}
        if self.clause:
            told["clause"] = self.clause
        if self.only:
            told["only"] = list(self.only)
        return {**told, "scenario": scenario}


@dataclass(frozen=True)
class Corpus:
    """The worlds of one judgement; the fixed ones come first."""

    worlds: tuple[Entry, ...]
    seed: int

    @property
    def fixed(self) -> int:
        """So many of the worlds are fixed cases."""
        return sum(each.fixed for each in self.worlds)

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


def fixed_worlds(folder: Path = FIXED) -> Iterator[Entry]:
    """Yield the fixed cases of every family, in the order of their files.

    Raises ScenarioError for a case that is no scenario.
    """
    for path in sorted(folder.glob("*.json")):
        yield from _entries(json.loads(path.read_text("utf-8")), path.stem, fixed=True)


def read_corpus(text: str) -> Corpus:
    """Return the corpus that a text of ``Corpus.json`` holds; raises ScenarioError."""
    data: dict[str, Any] = json.loads(text)
    worlds = (_entry(each, each["family"], each["fixed"]) for each in data["worlds"])
    return Corpus(tuple(worlds), data["seed"])


def _entries(
    data: Iterable[Mapping[str, Any]], family: str, *, fixed: bool
) -> Iterator[Entry]:
    for each in data:
        yield _entry(each, family, fixed)


def _entry(
    data: Mapping[str, Any], family: str, fixed: bool
) -> Entry:  # as it is written
    clause = str(data.get("clause", ""))
    where = f"world of {clause or family!r}"
    scenario = read_scenario(data["scenario"], where)
    return Entry(scenario, family, fixed, clause, tuple(data.get("only", ())))
