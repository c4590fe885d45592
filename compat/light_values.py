"""Reading what stands on a command line without loading pydantic.

Newer versions of typer read every value with pydantic, which takes several times as
long to load as a usage error may. What our options are is read here instead; an older
typer, or an option of another kind, goes its own way. That the two agree is tested
(``tests/test_command_values.py``), and that nothing is loaded, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, get_args, get_origin

import typer

Read: TypeAlias = Callable[[Any], object]


class _Info(Protocol):
    """What is used of that which typer knows of an option or argument."""

    parser: object
    min: float | None
    max: float | None
    clamp: bool
    formats: Sequence[str] | None
    case_sensitive: bool
    exists: bool
    file_okay: bool
    dir_okay: bool
    readable: bool
    writable: bool
    resolve_path: bool
    allow_dash: bool


@dataclass(frozen=True, slots=True)
class _Light:
    """What reads a parameter's values, with the method that typer calls for it."""

    read: Read
    many: bool

    def coerce(self, value: Any, param: Any, ctx: Any) -> object:  # noqa: ANN401  # typer's
        """Return what the command is given for a value; raises typer.BadParameter."""
        if value is None:
            return () if self.many else None
        try:
            return [*map(self.read, value)] if self.many else self.read(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None


def read_lightly(command: Any) -> None:  # noqa: ANN401  # its class is none of typer's names
    """Have the values of a command, and of those below it, read by ``_Light``."""
    for each in command.get_params(typer.Context(command)):
        if hasattr(each, "get_runtime_param"):
            _lighten(each)
    for each in getattr(command, "commands", {}).values():
        read_lightly(each)


def _lighten(parameter: Any) -> None:  # noqa: ANN401  # as above
    light = _light(parameter.type_descriptor)
    if light is not None:
        parameter.get_runtime_param = lambda: light


def _light(described: Any) -> _Light | None:  # noqa: ANN401  # as above
    """Return what reads a parameter, None if typer has to."""
    kind: Any = described.annotation
    info: _Info = described.parameter_info
    if info.parser is not None or info.clamp or not info.case_sensitive:
        return None
    many = get_origin(kind) is list
    read = _reader(get_args(kind)[0] if many else kind, info)
    return None if read is None else _Light(read, many)


def _reader(kind: object, info: _Info) -> Read | None:
    """Return what reads one value of this kind, None if typer has to."""
    if kind is str or kind is bool:
        return kind
    if kind is int or kind is float:
        return partial(_number, kind, info)
    if kind is datetime and info.formats:
        return partial(_date, info.formats)
    if kind is Path and not (info.allow_dash or info.resolve_path or info.writable):
        return partial(_path, info)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_choice, kind)
    return None


def _number(kind: type[int | float], info: _Info, value: object) -> float:
    try:
        number = kind(str(value))
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"{value!r} is not {what}.") from None
    if info.min is not None and not number >= info.min:
        raise ValueError(f"{value} is not {info.min} or more.")
    if info.max is not None and not number <= info.max:
        raise ValueError(f"{value} is not {info.max} or less.")
    return number


def _date(formats: Sequence[str], value: object) -> datetime:
    for each in formats:
        try:
            return datetime.strptime(str(value), each)  # noqa: DTZ007  # of the user's own zone
        except ValueError:
            continue
    raise ValueError(f"{value!r} is no date of the form {' or '.join(formats)}.")


def _path(info: _Info, value: object) -> Path:
    path = Path(str(value))
    if not path.exists():
        if info.exists:
            raise ValueError(f"{str(path)!r} does not exist.")
    elif path.is_file() and not info.file_okay:
        raise ValueError(f"{str(path)!r} is a file.")
    elif path.is_dir() and not info.dir_okay:
        raise ValueError(f"{str(path)!r} is a directory.")
    elif info.readable and not os.access(path, os.R_OK):
        raise ValueError(f"{str(path)!r} cannot be read.")
    return path


def _choice(kind: type[Enum], value: object) -> Enum:
    choices = {str(each.value): each for each in kind}
    named = str(value.value if isinstance(value, Enum) else value)
    if named not in choices:
        raise ValueError(f"{named!r} is not one of {', '.join(map(repr, choices))}.")
    return choices[named]
