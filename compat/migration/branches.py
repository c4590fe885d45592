"""What the scenarios of a corpus exercise of a subject: the branches each takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from compat.corpora.entries import CorpusEntry, answered_parts
from compat.migration.pairs import PlayError
from compat.migration.refs import (
    PYTHON,
    RefError,
    SubjectRef,
    not_a_subject,
    parse_ref,
)
from compat.migration.subject_runner import CheckOptions, SubjectRunner
from compat.spreading import (
    OtherFilesError,
    RefusedUnitError,
    Spread,
    UnitData,
    answers,
)
from refengine.testing.scenario_files import read_scenario

KIND: Final = "subject"
AT_ONCE: Final = 500
"""So many scenarios make a unit, which takes seconds."""


@dataclass(slots=True)
class BranchesTaken:
    """The branches of a subject, and those that some scenario takes."""

    every: tuple[str, ...] = ()
    taken: set[str] = field(default_factory=set[str])

    @property
    def untaken(self) -> Sequence[str]:
        """Those that none takes, in the order of the source."""
        return [each for each in self.every if each not in self.taken]


def python_ref(text: str) -> SubjectRef:
    """Return which subject a text names; raises RefError for one not in Python."""
    ref = parse_ref(text)
    if ref.language != PYTHON:
        raise not_a_subject(
            text, f"branches are told of {PYTHON}, and this is {ref.language}"
        )
    return ref


def with_branches(
    entries: Iterable[CorpusEntry],
    ref: SubjectRef,
    seen: BranchesTaken,
    spread: Spread | None = None,
) -> Iterator[CorpusEntry]:
    """Yield the entries with the branches of a subject in Python that each takes.

    ``seen`` is told of all of them. They are played here, or on a cluster; their order
    is kept, and no more of them are held than are under way. One in which the subject
    breaks off takes none. Raises RefusedUnitError for a subject that cannot be loaded.
    """
    about = {"subject": ref.text, "cwd": str(ref.cwd), "content": _content(ref)}

    def played(parts: Iterable[Sequence[CorpusEntry]]) -> Iterator[UnitData]:
        scenarios = ([each.scenario for each in part] for part in parts)
        units = ({**about, "scenarios": each} for each in scenarios)
        return answers(spread, KIND, branches_in, units)

    for part, answer in answered_parts(entries, AT_ONCE, played):
        seen.every = tuple(answer["every"])
        seen.taken.update(*answer["branches"])
        for entry, branches in zip(part, answer["branches"], strict=True):
            yield entry.with_branches(branches)


def _content(ref: SubjectRef) -> str | None:
    """Return the hash of the file, None for a module, which its child looks for."""
    return None if ref.file is None else sha256(ref.file.read_bytes()).hexdigest()


def branches_in(unit: UnitData) -> UnitData:
    """Return the branches that each scenario takes; this is what a worker plays.

    Raises RefusedUnitError.
    """
    try:
        ref = parse_ref(unit["subject"], cwd=Path(unit["cwd"]))
        if _content(ref) != unit["content"]:
            raise OtherFilesError(ref)
        with closing(SubjectRunner(ref, "old", CheckOptions())) as side:
            side.ready()
            found = [_taken(side, each) for each in unit["scenarios"]]
            return {"branches": found, "every": side.every_branch}
    except (RefError, OSError, PlayError) as error:
        raise RefusedUnitError(str(error)) from error


def _taken(side: SubjectRunner, scenario: object) -> Sequence[str]:
    try:
        return side.branches(side.play(read_scenario(scenario, "of the corpus")))
    except PlayError:
        return ()
