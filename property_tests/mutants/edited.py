"""Mutants that are edits of a reference's own functions, as data.

    [[mutant]]
    id = "first-call-only"
    about = "Only the first call of a message is run."
    violates = "RUN-003"
    edits = [["loop.Loop.batch_of", "for call in calls]", "for call in calls[:1]]"]]

An edit is for what no small change (``made``) says: in a function, a text that stands
there once, and what is put in its place. ``edits.toml`` beside this file has those of
the engine, and ``mutants.toml`` in the folder of a dialect those of its reference. A
mutant of the engine that has a ``posture`` in the place of edits is the right one under
that option, and says that it has its profile's own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from property_tests.mutants.around import under
from property_tests.mutants.made import MadePatch, code_in, source_of, spans_of
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import PatchedDoor

FILE: Final = Path(__file__).with_name("edits.toml")
PACKAGES: Final = ("refengine",)
"""Where the modules are that the edits of the engine name."""


class UnfitEditError(LookupError):
    """There is no such function, or the text does not stand there just once."""

    def __init__(self, function: str, text: str, found: int) -> None:
        self.function = function
        self.text = text
        self.found = found
        super().__init__(
            f"{text!r} stands {found} times in {function}, and not once: write the edit"
            " anew for what the function is now"
        )


class EditedMutant(BaseModel):
    """A mutant of a file: edits are a function, a text and what is there instead.

    In place of them ``posture`` has a posture and its option.

    The function is named with its module, as seen from the packages that are edited.
    ``under`` is the profile, "" for the usual one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    about: str
    violates: str
    edits: tuple[tuple[str, str, str], ...] = ()
    posture: tuple[str, str] | None = None
    under: str = ""
    says: str = ""

    @model_validator(mode="after")
    def _is_wrong(self) -> Self:
        if bool(self.edits) == (self.posture is not None):
            raise ValueError(f"{self.id} has edits or a posture, and not both")
        return self

    def mutant(self) -> Mutant:
        """Return the engine with these edits, or under that posture."""
        edited_ = PatchedDoor(self.id, partial(tuple, self.patches(PACKAGES)))
        return Mutant(
            id=self.id,
            about=self.about,
            violates=tuple(self.violates.split()),
            wrong=edited_ if self.posture is None else under(*self.posture),
            under=self.under or "seed-001",
            says=self.says,
        )

    def patches(self, packages: tuple[str, ...]) -> tuple[MadePatch, ...]:
        """Return what puts the edits in their places, in functions of these packages.

        Installing one raises UnfitEditError.
        """
        functions = dict.fromkeys(function for function, _, _ in self.edits)
        return tuple(
            MadePatch(partial(self._edited, each, packages)) for each in functions
        )

    def _edited(
        self, where: str, packages: tuple[str, ...]
    ) -> tuple[FunctionType, CodeType]:
        """Return a function, and its code with all that is edited in it."""
        edits = [(old, new) for function, old, new in self.edits if function == where]
        return edited(where, edits, packages)


def edited(
    where: str, edits: list[tuple[str, str]], packages: tuple[str, ...] = PACKAGES
) -> tuple[FunctionType, CodeType]:
    """Return a function and its edited code; raises UnfitEditError.

    Its module is looked for in one package after the other.
    """
    module, function = _placed(where, edits[0][0], packages)
    source, spans = _read(module)
    if function not in spans:
        raise UnfitEditError(where, edits[0][0], 0)
    lines, span = source.splitlines(keepends=True), spans[function]
    start, end = span.start - 1, span.stop - 1
    text = "".join(lines[start:end])
    for old, new in edits:
        if (found := text.count(old)) != 1:
            raise UnfitEditError(where, old, found)
        text = text.replace(old, new)
    return code_in(module, "".join((*lines[:start], text, *lines[end:])), function)


def _placed(where: str, text: str, packages: tuple[str, ...]) -> tuple[ModuleType, str]:
    """Return the module of a function, and its name there."""
    words = where.split(".")
    for package in packages:
        folder = Path(str(import_module(package).__file__)).parent
        for at in range(1, len(words)):
            if folder.joinpath(*words[:at]).with_suffix(".py").is_file():
                name = ".".join((package, *words[:at]))
                return import_module(name), ".".join(words[at:])
    raise UnfitEditError(where, text, 0)


@cache
def _read(module: ModuleType) -> tuple[str, dict[str, range]]:
    return source_of(module).decode(), spans_of(module)


def edits_in(file: Path) -> Iterator[EditedMutant]:
    """Yield what a file holds."""
    for each in tomllib.loads(file.read_text("utf-8"))["mutant"]:
        yield EditedMutant.model_validate(each)


EDITED: Final = tuple(each.mutant() for each in edits_in(FILE))
"""The mutants of the engine."""
