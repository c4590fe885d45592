"""One check of two programs: commands in, verdict out.

commands → server → a first run of each → worlds → judge → verdict
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from compat.migration.folder import Piece
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.options import EVERYWHERE
from compat.migration.pairs import PlayError
from compat.migration.programs.commands import ProgramCommand
from compat.migration.programs.discovering import (
    FoundProgram,
    all_tools,
    discovered,
)
from compat.migration.programs.interfaces import (
    SpokenInterfaces,
    Uncompared,
    masks_between,
    uncompared,
)
from compat.migration.programs.runner import ProgramRunner, anew, beside
from compat.migration.programs.worlds import program_corpus
from compat.migration.settings import SettingsError, load_settings
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import Migration
from compat.verdicts.relations import DEFAULT_RELATION
from compat.wire.errors import MissingWireExtraError
from refengine.testing.subject_worlds.words import Words

LONGEST: Final = 80
"""Letters of a text of a program's own that a person or a model says."""


@dataclass(frozen=True, slots=True)
class CheckedPrograms:
    """A verdict, the interfaces of both sides, and what of them was not compared.

    Where the network was ``closed``, nothing but the check could be reached.
    """

    verdict: Migration
    interfaces: Mapping[str, Sequence[str]] = field(
        default_factory=dict[str, Sequence[str]]
    )
    uncompared: Sequence[Uncompared] = ()
    closed: bool = False


def check_programs(
    old: ProgramCommand,
    new: ProgramCommand,
    terms: Terms,
    how: CheckOptions,
    words: Sequence[str] = (),
) -> CheckedPrograms:
    """Judge one migration of a whole program, with ``words`` of its source.

    A side that cannot be played stands in the verdict. Raises RefError, OSError,
    MissingWireExtraError, and UnusedFileError.
    """
    try:
        from compat.wire.server.network import own_network  # noqa: PLC0415  # an extra
        from compat.wire.server.programs import ProgramServer  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        raise MissingWireExtraError(str(error.name)) from error
    terms = replace(terms, everywhere=how.domain == EVERYWHERE)
    apart = nullcontext() if how.reach.net else own_network()
    with apart as network, ProgramServer(network) as server:
        sides = (
            ProgramRunner(old, "old", server, how),
            ProgramRunner(new, "new", server, how),
        )
        try:
            verdict = _judged(sides, terms, how, words)
            spoken: dict[str, SpokenInterfaces] = {s.label: s.spoken for s in sides}
            names: dict[str, Sequence[str]] = {
                side: tuple(each.names) for side, each in spoken.items()
            }
            return CheckedPrograms(
                verdict, names, tuple(uncompared(spoken)), closed=network is not None
            )
        except PlayError as error:
            failed = Migration(terms.required, 0, "", fault=error.fault)
            return CheckedPrograms(failed, closed=network is not None)
        finally:
            for each in sides:
                each.close()


def terms_of_program(
    settings: Path | None, new: ProgramCommand, require: str | None
) -> Terms:
    """Return what a program is held to; ``require`` wins over the file.

    Allowances are those of the case that is its command. Raises SettingsError.
    """
    if settings is None:
        return Terms(require or DEFAULT_RELATION)
    folder = settings.parent.resolve()
    piece = Piece(folder.name, folder, load_settings(settings))
    cases = piece.settings.cases
    if cases and new.text not in cases:
        known = ", ".join(cases)
        raise SettingsError(settings, [f"no case is {new.text!r}; there are {known}"])
    terms = piece.terms(new.text)
    return terms if require is None else replace(terms, required=require)


def _judged(
    sides: tuple[ProgramRunner, ProgramRunner],
    terms: Terms,
    how: CheckOptions,
    source: Sequence[str],
) -> Migration:
    found = [discovered(each) for each in sides]
    terms = replace(terms, by_door=masks_between([each.spoken.names for each in sides]))
    words = Words(texts=tuple(dict.fromkeys((*source, *_texts(found)))))
    corpus = program_corpus(
        words,
        all_tools(found),
        how.examples,
        how.seed,
        costly=any(each.command.turns == "lines" for each in sides),
        given=how.given,
    )
    used = how.given.used(corpus)
    judge = MigrationJudge(sides[0], corpus, anew, how.progress, beside)
    try:
        return replace(judge.judge(sides[1], terms), given=used)
    finally:
        judge.close()


def _texts(found: Sequence[FoundProgram]) -> tuple[str, ...]:
    """Return what the programs say in words, as parts of sentences."""
    whole = [text for each in found for text in each.texts]
    parts = [part.strip() for text in whole for part in re.split(r"[.\n!?;]", text)]
    return tuple(dict.fromkeys(part[:LONGEST] for part in parts if part))
