"""What of migrations is played in units, here or on a cluster.

One unit is a piece of a folder, with what is sent and what comes back; another one is a
part of a corpus, of which each scenario says what branches of a subject it takes. A
worker reads the same folder at the same place, as where several machines share a file
system; one with other content there is refused, or its verdicts would be of something
else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from compat.corpora.entries import CorpusEntry, answered_parts
from compat.migration.comparing import PlayError
from compat.migration.folder import Done, Piece, judge_pieces, mistakes, pieces_in
from compat.migration.options import Reach
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
from compat.verdicts.migration import JudgedCase
from refengine.testing.scenario_files import read_scenario

OF_PIECES: Final = "piece"
_CASES: Final = TypeAdapter(list[JudgedCase])
_REACH: Final = TypeAdapter(Reach)

_Options: TypeAlias = "dict[str, Any]"


def judge_spread(
    spread: Spread, pieces: Sequence[Piece], how: CheckOptions, done: Done
) -> list[JudgedCase]:
    """Judge all cases on a cluster; ``done`` hears of each. The order is the folder's.

    Raises RefusedUnitError.
    """
    # The largest first, or the last worker is left alone with it.
    order = sorted(pieces, key=lambda each: -len(each.settings.cases))
    found: dict[str, list[JudgedCase]] = {}
    for at, answer in spread.each(OF_PIECES, [unit_of(each, how) for each in order]):
        cases = _CASES.validate_python(answer["cases"], strict=False)
        found[str(order[at].folder)] = cases
        for each in cases:
            done(each)
    return [case for piece in pieces for case in found[str(piece.folder)]]


def unit_of(piece: Piece, how: CheckOptions) -> UnitData:
    """Return a piece as JSON: where it stands, what stands there, and how to judge."""
    options: _Options = {name: getattr(how, name) for name in _OPTIONS}
    options["reach"] = _REACH.dump_python(how.reach, mode="json")
    folder = str(piece.folder)
    return {
        "folder": folder,
        "content": _content_of_folder(piece.folder),
        "options": options,
    }


def judged_piece(unit: UnitData) -> UnitData:
    """Return the verdicts on a piece, as JSON; this is what a worker plays.

    Raises RefusedUnitError for whatever is a mistake in what was given.
    """
    folder = Path(unit["folder"])
    try:
        if _content_of_folder(folder) != unit["content"]:
            raise OtherFilesError(folder)
        options = dict(unit["options"])
        reach = _REACH.validate_python(options.pop("reach"))
        how = CheckOptions(**options, reach=reach)
        cases = judge_pieces(pieces_in(folder)[:1], how, lambda _: None)
    except OSError as error:
        raise RefusedUnitError(f"{error.filename}: {error.strerror}") from error
    except mistakes() as error:
        raise RefusedUnitError(str(error)) from error
    return {"cases": _CASES.dump_python(cases, mode="json")}


_OPTIONS: Final = (
    "examples",
    "seed",
    "timeout",
    "profile",
    "domain",
    "sharpness_plays",
    "min_sharpness",
    "search_plays",
)
"""What of the options is a number or a name; a server or own data are not sent."""


def _content_of_folder(folder: Path) -> str:
    """Return the hash of the files of a folder, without what Python leaves there."""
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            found.update(file.relative_to(folder).as_posix().encode())
            found.update(file.read_bytes())
    return found.hexdigest()


# Branches

OF_BRANCHES: Final = "subject"
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
    about = {"subject": ref.text, "cwd": str(ref.cwd), "content": _content_of_file(ref)}

    def played(parts: Iterable[Sequence[CorpusEntry]]) -> Iterator[UnitData]:
        scenarios = ([each.scenario for each in part] for part in parts)
        units = ({**about, "scenarios": each} for each in scenarios)
        return answers(spread, OF_BRANCHES, branches_in, units)

    for part, answer in answered_parts(entries, AT_ONCE, played):
        seen.every = tuple(answer["every"])
        seen.taken.update(*answer["branches"])
        for entry, branches in zip(part, answer["branches"], strict=True):
            yield entry.with_branches(branches)


def _content_of_file(ref: SubjectRef) -> str | None:
    """Return the hash of the file, None for a module, which its child looks for."""
    return None if ref.file is None else sha256(ref.file.read_bytes()).hexdigest()


def branches_in(unit: UnitData) -> UnitData:
    """Return the branches that each scenario takes; this is what a worker plays.

    Raises RefusedUnitError.
    """
    try:
        ref = parse_ref(unit["subject"], cwd=Path(unit["cwd"]))
        if _content_of_file(ref) != unit["content"]:
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
