"""Mutants that are edits of the engine's own functions, as data (``edits.toml``).

    [[mutant]]
    id = "first-call-only"
    about = "Only the first call of a message is run."
    violates = "RUN-003"
    edits = [["loop.Loop.batch_of", "for call in calls]", "for call in calls[:1]]"]]

An edit is for what no small change (``made``) says: in a function, a text that stands
there once, and what is put in its place.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

from pydantic import BaseModel, ConfigDict

from property_tests.mutants.made import (
    ENGINE,
    MadePatch,
    code_in,
    source_of,
    spans_of,
)
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import PatchedDoor

FILE: Final = Path(__file__).with_name("edits.toml")


class UnfitEditError(LookupError):
    """There is no such function, or the text does not stand there just once."""

    def __init__(self, function: str, text: str, found: int) -> None:
        self.function = function
        self.text = text
        self.found = found
        super().__init__(
            f"{text!r} stands {found} times in {function}, and not once: write the edit"
            f" anew in {FILE.name} for what the engine is now"
        )


class EditedMutant(BaseModel):
    """A mutant of the file: edits are a function, a text and what is there instead."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    about: str
    violates: str
    edits: tuple[tuple[str, str, str], ...]
    under: str = "seed-001"
    says: str = ""

    def mutant(self) -> Mutant:
        """Return the engine with these edits."""
        return Mutant(
            id=self.id,
            about=self.about,
            violates=tuple(self.violates.split()),
            wrong=PatchedDoor(self.id, partial(tuple, self._patches())),
            under=self.under,
            says=self.says,
        )

    def _patches(self) -> list[MadePatch]:
        functions = dict.fromkeys(function for function, _, _ in self.edits)
        return [MadePatch(partial(self._edited, each)) for each in functions]

    def _edited(self, where: str) -> tuple[FunctionType, CodeType]:
        """Return a function, and its code with all that is edited in it."""
        edits = [(old, new) for function, old, new in self.edits if function == where]
        return edited(where, edits)


def edited(where: str, edits: list[tuple[str, str]]) -> tuple[FunctionType, CodeType]:
    """Return a function of the engine and its edited code; raises UnfitEditError."""
    name, function = _placed(where, edits[0][0])
    module = import_module(f"refengine.{name}")
    before, text, behind = _parts(name, function, edits[0][0])
    for old, new in edits:
        if (found := text.count(old)) != 1:
            raise UnfitEditError(where, old, found)
        text = text.replace(old, new)
    return code_in(module, before + text + behind, function)


def _placed(where: str, text: str) -> tuple[str, str]:
    """Return the module of a function, and its name there."""
    for name in ENGINE:
        if where.startswith(f"{name}."):
            return name, where.removeprefix(f"{name}.")
    raise UnfitEditError(where, text, 0)


def _parts(name: str, function: str, old: str) -> tuple[str, str, str]:
    """Return the text of a module before the body of a function, that, and the rest."""
    source, spans = _read(name)
    if function not in spans:
        raise UnfitEditError(f"{name}.{function}", old, 0)
    lines, span = source.splitlines(keepends=True), spans[function]
    start, end = span.start - 1, span.stop - 1
    return "".join(lines[:start]), "".join(lines[start:end]), "".join(lines[end:])


@cache
def _read(name: str) -> tuple[str, dict[str, range]]:
    module = import_module(f"refengine.{name}")
    return source_of(module).decode(), spans_of(module)


def edits() -> Iterator[EditedMutant]:
    """Yield what the file holds."""
    for each in tomllib.loads(FILE.read_text("utf-8"))["mutant"]:
        yield EditedMutant.model_validate(each)


EDITED: Final = tuple(each.mutant() for each in edits())
"""All mutants of the file."""
