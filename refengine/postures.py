"""What every kind of profile shares: postures are the fields, their types the options.

A kind of profile is a frozen dataclass with a ``name``; each of its other fields is a
posture, and its ``Literal`` says which options there are. The engine's own kind is in
``profile.py``; a dialect has one of its own, in the same TOML.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar, cast, get_args, get_type_hints

from refengine.errors import IncompleteProfileError, UnknownProfileError


class AnyProfile(Protocol):
    """A profile of any kind: a frozen dataclass with a name."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...


P = TypeVar("P", bound=AnyProfile)


@cache
def options_of(kind: type[AnyProfile]) -> Mapping[str, tuple[str, ...]]:
    """Return each posture of that kind with its options, in the order of the class."""
    hints = get_type_hints(kind)
    return {
        each.name: get_args(hints[each.name])
        for each in fields(kind)
        if each.name != "name"
    }


def refuse_unknown_options(made: AnyProfile) -> None:
    """Raise IncompleteProfileError for an option that its posture does not have."""
    for posture, allowed in options_of(type(made)).items():
        got = getattr(made, posture)
        if got not in allowed:
            raise IncompleteProfileError(made.name, posture, got, ", ".join(allowed))


def choosing(base: P, posture: str, option: str) -> P:
    """Return a profile that differs from ``base`` in one posture.

    Raises IncompleteProfileError for a posture or an option that does not exist.
    """
    if posture not in options_of(type(base)):
        raise IncompleteProfileError(base.name, posture, option, "")
    changes: dict[str, Any] = {posture: option}
    return replace(base, **changes)


def differences(a: P, b: P) -> Iterator[tuple[str, str, str]]:
    """Yield (posture, value in a, value in b) where the two differ."""
    for posture in options_of(type(a)):
        if getattr(a, posture) != getattr(b, posture):
            yield posture, getattr(a, posture), getattr(b, posture)


def profiles_in(kind: type[P], text: str) -> Iterator[P]:
    """Yield the profiles of a table in TOML; one without a value for a posture is none.

    Raises IncompleteProfileError, which names the profile.
    """
    known = options_of(kind)
    for name, postures in tomllib.loads(text).items():
        for posture, allowed in known.items():
            if posture not in postures:
                raise IncompleteProfileError(name, posture, None, ", ".join(allowed))
        for posture in postures.keys() - known.keys():
            got = postures[posture]
            raise IncompleteProfileError(name, posture, got, "")
        make = cast("Callable[..., P]", kind)  # a protocol has no fields to give
        yield make(name=name, **postures)


def named(profiles: Iterable[P], name: str) -> P:
    """Return the profile of that name; raises UnknownProfileError with a suggestion."""
    known = {each.name: each for each in profiles}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        raise UnknownProfileError(name, known, close[0] if close else None)
    return known[name]
