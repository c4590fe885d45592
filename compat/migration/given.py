"""What a user gives a check of his own: sessions, tools, samples of his data.

Sessions are played as they are, and are seeds of further worlds. Tools and samples
join the words that all worlds are made of. What was given and then is in no world is
an error: nothing passes by absence (verdicts, Conformance).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from compat.migration.corpus import AS_GIVEN, Corpus
from compat.models.chat_logs import read_tools
from compat.models.errors import BadPlace, GivenFileError, UnusedFileError
from compat.models.importing import (
    ImportedFile,
    given_worlds,
    import_file,
    refuse_twice,
)
from compat.verdicts.migration import GivenWorlds
from refengine.testing.subject_worlds.declared import DeclaredTool, declared_worlds
from refengine.testing.subject_worlds.kit import Data
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.seeded import document_worlds, seeded, texts_of
from refengine.testing.subject_worlds.words import Words

MADE: Final = "like given"
SAMPLED: Final = "documents"
"""Families of worlds: those made from sessions, and those with documents found."""
SAMPLES: Final = "samples"
TEXTS: Final = 40
"""So many texts of sessions join the words; the sessions themselves hold all."""
LONGEST: Final = 400
"""Longer texts are in their own sessions only."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Data of the user's: texts, ids, and documents that tools find."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    documents: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsFile:
    """A file of tools, by its name."""

    name: str
    tools: tuple[DeclaredTool, ...]


@dataclass(frozen=True, slots=True)
class GivenData:
    """All that a user gives of his own."""

    files: tuple[ImportedFile, ...] = ()
    tools: tuple[ToolsFile, ...] = ()
    samples: Samples = Samples()

    def words(self, words: Words, most: int = TEXTS) -> Words:
        """Return the words with those of what was given, which come first.

        All samples are among them, and of the texts of sessions ``most``.
        """
        names = [tool.name for file in self.tools for tool in file.tools]
        texts = [*self.samples.texts, *self.samples.ids, *self._texts(most)]
        return replace(
            words,
            texts=tuple(dict.fromkeys([*texts, *words.texts])),
            names=tuple(dict.fromkeys([*names, *words.names])),
        )

    def worlds(
        self, words: Words, seed: int, *, graphs: bool = False
    ) -> Iterator[tuple[str, Data]]:
        """Yield the sessions as they are, and the worlds made of what was given.

        Raises GivenFileError for one that ``graphs`` cannot play.
        """
        for number, file in enumerate(self.files, 1):
            if graphs:
                _for_graphs(file)
            sessions = [_data(each.scenario) for each in file.worlds]
            yield from ((f"{AS_GIVEN} {number}", each) for each in sessions)
            made = seeded(sessions, words, seed)
            yield from ((f"{MADE} {number}", each) for each in made)
        for each in document_worlds(self.samples.documents, words, seed):
            yield SAMPLED, each
        if self.tools:
            yield from declared_worlds([*self.declared.values()], words)

    @property
    def declared(self) -> dict[str, DeclaredTool]:
        """All tools by name; of equal names the first one counts."""
        tools = [tool for file in self.tools for tool in file.tools]
        return {tool.name: tool for tool in reversed(tools)}

    def options(self, words: GraphWords) -> GraphWords:
        """Return a graph's words with the ids as values of options that are ids."""
        ids = self.samples.ids
        return replace(
            words,
            options=tuple(
                replace(each, values=(*ids, *each.values))
                if each.name.lower().endswith("id")
                else each
                for each in words.options
            ),
        )

    def used(self, corpus: Corpus) -> tuple[GivenWorlds, ...]:
        """Return how many worlds are of each file; raises UnusedFileError."""
        return (
            *self._files_used(corpus),
            *self._tools_used(corpus),
            *self._samples_used(corpus),
        )

    def told(
        self, used: Sequence[GivenWorlds], left_out: Mapping[str, int]
    ) -> tuple[GivenWorlds, ...]:
        """Return the worlds of each file with how many of them were left out.

        ``left_out`` counts worlds by family.
        """
        numbers = {file.name: number for number, file in enumerate(self.files, 1)}
        return tuple(
            replace(
                each,
                left_out=sum(
                    left_out.get(f"{family} {numbers[each.file]}", 0)
                    for family in (AS_GIVEN, MADE)
                ),
            )
            if each.file in numbers
            else each
            for each in used
        )

    def joined(self, other: GivenData) -> GivenData:
        """Return both, the samples of the one that has some."""
        samples = other.samples if self.samples == Samples() else self.samples
        return GivenData(
            (*self.files, *other.files), (*self.tools, *other.tools), samples
        )

    def _files_used(self, corpus: Corpus) -> Iterator[GivenWorlds]:
        families = Counter(world.family for world in corpus.worlds)
        for number, file in enumerate(self.files, 1):
            own = families[f"{AS_GIVEN} {number}"]
            if not own:
                raise UnusedFileError(
                    file.name,
                    "its sessions are in another file, or cannot be played like this",
                )
            made = families[f"{MADE} {number}"]
            yield given_worlds(file, own, made)

    def _tools_used(self, corpus: Corpus) -> Iterator[GivenWorlds]:
        worlds = [
            {tool.name for agent in w.scenario.all_agents for tool in agent.tools}
            for w in corpus.worlds
        ]
        for file in self.tools:
            names = {tool.name for tool in file.tools}
            found = sum(1 for each in worlds if each & names)
            if not found:
                raise UnusedFileError(file.name, "no world has one of its tools")
            yield GivenWorlds(file.name, 0, found)

    def _samples_used(self, corpus: Corpus) -> Iterator[GivenWorlds]:
        samples = self.samples
        if samples == Samples():
            return
        worlds = [_text(_data(world.scenario)) for world in corpus.worlds]
        wanted = [*samples.texts, *samples.ids, *samples.documents]
        needles = [_text(_text(each)[1:-1])[1:-1] for each in wanted]
        found = sum(1 for each in worlds if any(n in each for n in needles))
        if not found:
            raise UnusedFileError(SAMPLES, "no world holds one of them")
        yield GivenWorlds(SAMPLES, 0, found)

    def _texts(self, most: int) -> list[str]:
        """Return texts of the sessions, of each file as many as of the others."""
        by_file = [
            list(
                dict.fromkeys(
                    text
                    for world in file.worlds
                    for text in texts_of(_data(world.scenario))
                    if text.strip() and len(text) <= LONGEST
                )
            )
            for file in self.files
        ]
        share = -(-most // max(1, len(by_file)))
        return [text for each in by_file for text in each[:share]]


NOTHING: Final = GivenData()


def read_given(
    worlds: Sequence[Path], tools: Sequence[Path], samples: Samples = NOTHING.samples
) -> GivenData:
    """Return what files hold; raises GivenFileError or OSError."""
    refuse_twice([*worlds, *tools])
    return GivenData(
        tuple(map(import_file, worlds)),
        tuple(ToolsFile(each.name, read_tools(each)) for each in tools),
        samples,
    )


def _for_graphs(file: ImportedFile) -> None:
    """Refuse sessions that no graph can have, rather than play something else."""
    problems = [
        BadPlace(
            each.where,
            "has several agents, or a run that is kept, resumed or cancelled;"
            " a graph is played with one 'agent' and plain runs",
        )
        for each in file.worlds
        if each.scenario.agents
        or each.scenario.keeps
        or any(run.cancel or run.agent for run in each.scenario.runs)
    ]
    if problems:
        raise GivenFileError(file.name, problems)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _data(scenario: Any) -> Data:  # noqa: ANN401  # a Scenario, as JSON
    made: Data = scenario.model_dump(mode="json", exclude_defaults=True)
    return made
