"""What may stand on a command line as a value: read, or refused in plain words.

Each kind has a label, by which help shows it. click's own kinds would name a text TEXT
and a number that is none "not a valid integer"; these say what our reports say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from compat.cli.completing import (
    any_profile_names,
    clause_ids,
    engine_names,
    profile_names,
)
from compat.verdicts.relations import RELATIONS

if TYPE_CHECKING:
    ParamType = click.ParamType[object]
else:
    ParamType = click.ParamType  # generic in its newer versions only


class Kind(ParamType):
    """A kind of value: its label in help, and what reads it.

    ``read`` raises ValueError with a sentence for a text that is no such value, and
    ``path`` tells that a shell completes it as a file, or as a folder.
    """

    name = "value"

    def __init__(
        self,
        label: str,
        read: Callable[[str], object] = str,
        names: Callable[[], Iterable[str]] = tuple,
        path: str = "",
    ) -> None:
        self.label = label
        self._names = names
        self._read = read
        self._path = path

    def get_metavar(self, param: click.Parameter, ctx: Any = None) -> str:  # noqa: ANN401, ARG002  # click's
        """Return what stands for the value in help."""
        return self.label

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        param: click.Parameter,  # noqa: ARG002  # click's
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return what a shell may put there: names in any case, or the shell's own."""
        if self._path:
            return [CompletionItem(incomplete, type=self._path)]
        wanted = incomplete.lower()
        found = (each for each in self._names() if each.lower().startswith(wanted))
        return [CompletionItem(each) for each in found]

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the value of a text; a default is read like a text."""
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Number(Kind):
    """A number between two bounds, which help shows behind the default."""

    def __init__(
        self,
        kind: type[int | float],
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        super().__init__("N", self._number)
        self._kind = kind
        self._least = least
        self._most = most

    @property
    def range(self) -> str:
        """The bounds, as help shows them."""
        if self._least is None and self._most is None:
            return ""
        if self._most is None:
            return f"at least {self._least}"
        if self._least is None:
            return f"at most {self._most}"
        return f"{self._least} to {self._most}"

    def _number(self, text: str) -> float:
        try:
            number = self._kind(text)
        except ValueError:
            what = "a whole number" if self._kind is int else "a number"
            raise ValueError(f"{text!r} is not {what}.") from None
        # The other way round, nan would be at least anything.
        if self._least is not None and not number >= self._least:
            raise ValueError(f"{text} is not {self._least} or more.")
        if self._most is not None and not number <= self._most:
            raise ValueError(f"{text} is not {self._most} or less.")
        return number


def at_least(least: float, most: float | None = None) -> Number:
    """Return a kind of number; whole ones if the bound is one."""
    return Number(type(least), least, most)


def one_of(*names: str) -> Kind:
    """Return the kind of these names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text!r} is not one of {', '.join(map(repr, names))}.")
        return text

    return Kind("|".join(names), read, names=lambda: names)


def _day(text: str) -> date:
    try:
        return datetime.strptime(text, _DAY).date()  # noqa: DTZ007  # of the user's own zone
    except ValueError:
        raise ValueError(f"{text!r} is not a date of the form {_DAY}.") from None


def _path(
    text: str, *, exists: bool = False, files: bool = True, folders: bool = True
) -> Path:
    path = Path(text)
    if not path.exists():
        if exists:
            raise ValueError(f"{text!r} does not exist.")
    elif path.is_file() and not files:
        raise ValueError(f"{text!r} is a file.")
    elif path.is_dir() and not folders:
        raise ValueError(f"{text!r} is a directory.")
    elif not os.access(path, os.R_OK):
        raise ValueError(f"{text!r} cannot be read.")
    return path


def _output(text: str, *, folder: bool = False) -> Path:
    """Return where something is to be written, before the work that leads to it."""
    path = Path(text)
    if folder:
        above = next(each for each in (path, *path.absolute().parents) if each.exists())
    else:
        above = path.parent
        if path.is_dir():
            raise ValueError(f"{text!r} is a directory: name a file in it.")
        if not above.exists():
            raise ValueError(f"the folder of {text!r} does not exist: make it first.")
    if not above.is_dir():
        raise ValueError(f"{str(above)!r} is a file, not a folder to write to.")
    if not os.access(path if path.exists() else above, os.W_OK):
        raise ValueError(f"{text!r} cannot be written.")
    return path


_DAY: Final = "%Y-%m-%d"

TEXT: Final = Kind("TEXT")
CLAUSE: Final = Kind("ID", names=clause_ids)
PROFILE: Final = Kind("PROFILE", names=profile_names)
ANY_PROFILE: Final = Kind("PROFILE", names=any_profile_names)
ENGINE: Final = Kind("ENGINE", names=engine_names)
RELATION: Final = Kind("RELATION", names=lambda: RELATIONS)
"""Texts that a shell can complete; whether there is such a one is told later."""
WHOLE: Final = Number(int)
DAY: Final = Kind("YYYY-MM-DD", _day)
PATH: Final = Kind("PATH", _path, path="file")
FILE: Final = Kind("FILE", partial(_path, folders=False), path="file")
FILE_THERE: Final = Kind(
    "FILE", partial(_path, exists=True, folders=False), path="file"
)
OUTPUT: Final = Kind("FILE", _output, path="file")
OUTPUT_FOLDER: Final = Kind("DIR", partial(_output, folder=True), path="dir")
"""A file that is going to be written; a folder that is, with all above it."""
FOLDER: Final = Kind("DIR", partial(_path, files=False), path="dir")
"""A path, which need not be there; a file; one that is there; a folder."""
