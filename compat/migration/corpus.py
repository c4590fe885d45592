"""The corpus of one migration check: its worlds as data, and their hash.

It is made before a subject is imported, from nothing but its words and a seed, and it
is the same one on every Python, whatever else is installed or loaded (verdicts, Worlds
and corpora: generate once, judge often).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from compat.migration.fixed import LASTING, fixed_worlds
from refengine.testing.reading import read_scenario
from refengine.testing.scenario import Scenario
from refengine.testing.strategies.graph_source import GraphWords
from refengine.testing.strategies.graph_worlds import graph_worlds
from refengine.testing.strategies.subject_words import Words
from refengine.testing.strategies.subject_worlds import worlds

VERSION: Final = 1


class NoExamplesError(ValueError):
    """A corpus without a generated world was asked for."""

    def __init__(self, examples: int) -> None:
        self.examples = examples
        super().__init__(
            f"a corpus of {examples!r} generated worlds: ask for at least 1,"
            " since the fixed ones do not hold all of a subject's words"
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One world of a corpus: what is played, and of which family it is."""

    scenario: Scenario
    family: str
    fixed: bool


@dataclass(frozen=True)
class Corpus:
    """The worlds that both sides are played in; the fixed ones come first.

    ``fits`` tells which worlds made from them are of their kind, None if any is. Those
    of graphs with more answers than ``repeated`` are played once.
    """

    worlds: tuple[Entry, ...]
    seed: int
    fits: Callable[[Scenario], bool] | None = None
    repeated: int = 12

    @cached_property
    def json(self) -> str:
        """The corpus as canonical JSON: sorted keys, no spaces, ASCII, no defaults."""
        data = {
            "version": VERSION,
            "seed": self.seed,
            "worlds": [_written(entry) for entry in self.worlds],
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of that JSON, in hexadecimal digits."""
        return sha256(self.json.encode()).hexdigest()


def make_corpus(
    words: Words, examples: int, seed: int, graphs: GraphWords | None = None
) -> Corpus:
    """Return the fixed worlds and so many generated ones, in these words.

    Families take turns, so that with 100 examples each has five worlds or more. With
    the words of ``graphs`` all worlds are such as a graph may have, and a few more.
    Raises NoExamplesError.
    """
    if examples < 1:
        raise NoExamplesError(examples)
    fixed, made = fixed_worlds(words), worlds(words, examples, seed)
    if graphs is not None:
        # Graphs are kept, interrupted and cancelled by their own frameworks' rules.
        usual = (each for each in fixed if each[0] not in LASTING)
        made = graph_worlds(words, graphs, [*usual, *made], seed)
        fixed = iter(())
    entries = [_entry(*each, fixed=True) for each in fixed]
    entries += [_entry(*each, fixed=False) for each in made]
    return Corpus(tuple(entries), seed)


def read_corpus(text: str) -> Corpus:
    """Return the corpus that a text of ``Corpus.json`` holds; raises ScenarioError."""
    data: dict[str, Any] = json.loads(text)
    entries = (
        _entry(each["family"], each["scenario"], fixed=each["fixed"])
        for each in data["worlds"]
    )
    return Corpus(tuple(entries), data["seed"])


def _entry(family: str, data: object, *, fixed: bool) -> Entry:
    return Entry(read_scenario(data, f"world of family {family!r}"), family, fixed)


def _written(entry: Entry) -> dict[str, object]:
    scenario = entry.scenario.model_dump(mode="json", exclude_defaults=True)
    return {"family": entry.family, "fixed": entry.fixed, "scenario": scenario}
