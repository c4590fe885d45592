"""One check of two programs: commands in, verdict out.

commands → server → a first run of each → worlds → judge → verdict

What only one of two interfaces has is not compared where the sides speak both. It is
never dropped without a word: a report lists it, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from compat.migration.differences import Mask
from compat.migration.folder import Piece
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.options import EVERYWHERE
from compat.migration.pairs import PlayError
from compat.migration.programs.commands import ProgramCommand
from compat.migration.programs.runner import (
    STRICT,
    FoundProgram,
    ProgramRunner,
    SpokenInterfaces,
    all_tools,
    anew,
    beside,
    discovered,
)
from compat.migration.programs.worlds import program_corpus
from compat.migration.settings import SettingsError, load_settings
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import Migration
from compat.verdicts.relations import DEFAULT_RELATION
from compat.wire.interfaces.counterparts import BETWEEN_VENDORS, lacking, reason_for
from compat.wire.server.network import own_network
from compat.wire.server.programs import ProgramServer
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

    A side that cannot be played stands in the verdict. Raises RefError, OSError, and
    UnusedFileError.
    """
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


OWN: Final = Mask("requests", "[*].options.own")
"""Where settings stand that only the interface of a side has."""


@dataclass(frozen=True, slots=True)
class Uncompared:
    """Settings that were not compared: whose they are, of which interfaces."""

    side: str
    interfaces: tuple[str, ...]
    name: str

    @property
    def reason(self) -> str:
        """Why it has no counterpart."""
        return reason_for(self.name, self.interfaces)


def masks_between(names: Sequence[Iterable[str]]) -> tuple[Mask, ...]:
    """Return what is not compared of sides that speak these interfaces."""
    old, new = ({*each} for each in names)
    if old == new:
        return ()
    apart = [*lacking(old, new), *_between_vendors(old, new)]
    return (OWN, *(Mask("requests", _path(name)) for name in apart))


def _between_vendors(old: set[str], new: set[str]) -> Sequence[str]:
    """Return what two vendors have alike and mean otherwise."""
    vendors = [{name.partition(" ")[0] for name in each} for each in (old, new)]
    return () if vendors[0] == vendors[1] else tuple(BETWEEN_VENDORS)


def _path(name: str) -> str:
    return f"[*].tools[*].{name}" if name == STRICT else f"[*].options.{name}"


def uncompared(sides: Mapping[str, SpokenInterfaces]) -> Iterator[Uncompared]:
    """Yield what was not compared, if the sides speak different interfaces."""
    old, new = ({*each.names} for each in sides.values())
    if old == new:
        return
    for name in _between_vendors(old, new):
        said = [side for side, spoken in sides.items() if name in spoken.settings]
        if said:
            whose = "both sides" if len(said) > 1 else said[0]
            yield Uncompared(whose, (), name)
    for side, spoken in sides.items():
        interfaces = tuple(spoken.names)
        for name in (*_alone(spoken, old, new), *spoken.own):
            yield Uncompared(side, interfaces, name)


def _alone(spoken: SpokenInterfaces, old: set[str], new: set[str]) -> Iterator[str]:
    """Yield the settings that a side says and the other's interface does not have."""
    apart = {*lacking(old, new)} - {*_between_vendors(old, new)}
    return (name for name in spoken.settings if name in apart)
