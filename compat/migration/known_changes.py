"""Documented changes between releases of packages, each of which a run has shown.

    changes_between("langchain", "1.4", "1.5")

They stand in ``known_changes.toml``: each row says what changes, in which release,
where that is told, and whom it concerns. Its subject, played with the release before
and with that one, shows the difference that the row names; ``python -m
tools.known_changes`` plays them all. A difference between two versions of a package is
held against the rows that lie between them, by code, channel and path, and by names
that the sides' code has. That says what it may come from, not that it does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated, Final, Self

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import (
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from compat.environments.releases import is_upto, version_of
from compat.migration.points import said_names
from compat.migration.settings import ChannelName, CodeName, SettingsPart, Text
from compat.verdicts.migration import Difference, DocumentedChange
from refengine.testing.scenario_files import read_scenario

FILE: Final = "known_changes.toml"
Sentence = Annotated[str, StringConstraints(pattern=r"^[A-Z`].{20,200}\.$")]
Link = Annotated[str, StringConstraints(pattern=r"^https://\S+$")]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$")]


class KnownChangesError(ValueError):
    """A file of changes that cannot be read, or that says something that is not so."""

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__("\n".join((f"{FILE}:", *(f"  {each}" for each in problems))))


class UnknownPackageError(LookupError):
    """A package of which no changes are written down."""

    def __init__(self, package: str, known: Collection[str]) -> None:
        super().__init__(
            f"no changes of {package} are written down, only of {', '.join(known)};"
            " play your code with both releases: refengine migrate check agent.py"
            f" --old-with '{package}==OLD' --new-with '{package}==NEW'"
        )


class ReleaseRangeError(ValueError):
    """Two releases between which nothing can lie."""

    def __init__(self, first: str, last: str) -> None:
        super().__init__(
            f"{last} does not come after {first}: give the older one first"
        )


class ChangeRow(SettingsPart):
    """One change: since which release, who is concerned, and how it shows.

    ``before`` is the release before ``since``; the subject was played with both, and
    beside them ``base``, in the ``world``. ``path`` is that of the difference, without
    numbers.
    """

    id: Id
    package: Text
    before: Text
    since: Text
    says: Sentence
    link: Link
    concerns: tuple[Text, ...] = Field(min_length=1)
    code: CodeName
    channel: ChannelName
    path: str
    base: tuple[Text, ...] = ()
    subject: Text
    world: dict[str, JsonValue]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Look at what its parts say together; raises ValueError."""
        try:
            if not Version(self.before) < Version(self.since):
                raise ValueError(f"{self.before} is not before {self.since}")
        except InvalidVersion as error:
            raise ValueError(str(error)) from None
        read_scenario(self.world, "the world")
        silent = set(self.concerns) - said_names([self.subject]).names
        if silent:
            raise ValueError(f"its subject does not speak of {min(silent)}")
        return self

    @property
    def told(self) -> DocumentedChange:
        """What a report says of it."""
        return DocumentedChange(self.package, self.since, self.says, self.link)

    def lies_between(self, old: str, new: str) -> bool:
        """Tell whether a package that goes from one version to another meets it."""
        return Version(old) < Version(self.since) <= Version(new)

    def shows(self, found: Difference, code: str, names: Collection[str]) -> bool:
        """Tell whether a difference in code that has these names looks like it."""
        place = self.code, self.channel, self.path
        same = place == (code, found.channel, found.anywhere)
        return same and set(self.concerns) <= set(names)


class _File(SettingsPart):
    also: Mapping[Text, Text]
    """Other packages with the same numbers, each with that whose changes it brings."""
    change: tuple[ChangeRow, ...]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        keys = [(each.package, Version(each.since), each.id) for each in self.change]
        for one, other in pairwise(keys):
            if one >= other:
                raise ValueError(f"{other[2]} stands behind {one[2]}: sort them")
        unknown = set(self.also.values()) - {each.package for each in self.change}
        if unknown:
            raise ValueError(f"also: there are no changes of {min(unknown)}")
        return self


def read_changes(text: str) -> _File:
    """Return what a file says; raises KnownChangesError."""
    try:
        return _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise KnownChangesError([str(error)]) from None
    except ValidationError as error:
        raise KnownChangesError(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_url=False)
        ) from None


@cache
def _written() -> _File:
    return read_changes(files("compat.migration").joinpath(FILE).read_text("utf-8"))


def known_changes() -> Sequence[ChangeRow]:
    """Return all changes that are written down, by package and release."""
    return _written().change


def changes_between(package: str, first: str, last: str) -> Sequence[ChangeRow]:
    """Return the changes of a package after one release, up to another.

    1.5 is its first release as the older one, and its last as the newer one. Raises
    UnknownPackageError, ReleaseRangeError, or ReleasesError for what is no version.
    """
    asked = canonicalize_name(package)
    name = _written().also.get(asked, asked)
    some = [each for each in known_changes() if each.package == name]
    if not some:
        known = dict.fromkeys(each.package for each in known_changes())
        raise UnknownPackageError(package, [*known, *_written().also])
    begin, end = version_of(first), version_of(last)
    if end < begin or (end == begin and first == last):
        raise ReleaseRangeError(first, last)
    since = ((Version(each.since), each) for each in some)
    return [each for at, each in since if begin < at and is_upto(at, last)]


def documented(
    found: Difference,
    code: str,
    versions: Mapping[str, tuple[str, str]],
    sources: Mapping[str, str],
) -> Sequence[DocumentedChange]:
    """Return the changes between two sides' versions that a difference looks like.

    ``sources`` are those of both sides.
    """
    between = [
        each
        for each in known_changes()
        if all(versions.get(each.package, ("", "")))
        and each.lies_between(*versions[each.package])
    ]
    names = said_names(sources.values()).names if between else ()
    return [each.told for each in between if each.shows(found, code, names)]
