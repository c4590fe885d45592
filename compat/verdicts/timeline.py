"""Verdicts over time: what was said of each version, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

ChangeKind: TypeAlias = Literal["worse", "lost", "better", "other", "new", "gone"]
WORSE: Final[frozenset[ChangeKind]] = frozenset(("worse", "lost"))
"""The kinds of changes for which a comparison fails."""
_NUMBERS: Final = re.compile(r"v?(\d+(?:\.\d+)*)")


class TimelineError(ValueError):
    """A file, report, command or name that cannot be used; says which, and why."""


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """A clause or a case, and what was said of it.

    ``good`` is None where nothing was decided: not applicable, or blocked.
    """

    name: str
    verdict: str
    good: bool | None


@dataclass(frozen=True, slots=True)
class VersionJudged:
    """One version of a subject with all that was said of it.

    ``digest`` is that of the report, ``tool`` what wrote it.
    """

    subject: str
    version: str
    items: Mapping[str, TimelineItem]
    digest: str
    tool: str

    @property
    def bad(self) -> tuple[str, ...]:
        """The items that are not as they should be."""
        return tuple(name for name, each in self.items.items() if each.good is False)


@dataclass(frozen=True, slots=True)
class VersionChange:
    """An item of which two versions say different things; None where one has none."""

    item: str
    old: TimelineItem | None
    new: TimelineItem | None

    @property
    def kind(self) -> ChangeKind:
        """How it changed; ``lost`` is what was good and is no longer decided."""
        if self.old is None:
            return "new"
        if self.new is None:
            return "gone"
        if self.old.good is not False and self.new.good is False:
            return "worse"
        if self.old.good is not True and self.new.good is True:
            return "better"
        return "lost" if self.old.good and self.new.good is None else "other"

    def __str__(self) -> str:
        old, new = (each.verdict if each else "-" for each in (self.old, self.new))
        return f"{self.item}: {old} → {new}"


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """The versions of a subject, in order."""

    subject: str
    versions: tuple[VersionJudged, ...]

    def rows(self) -> Iterator[tuple[str, tuple[TimelineItem | None, ...]]]:
        """Yield each item with what each version says of it, sorted by name."""
        names = sorted({name for each in self.versions for name in each.items})
        for name in names:
            yield name, tuple(each.items.get(name) for each in self.versions)

    def first_bad(self, item: str) -> str:
        """Return the version since which an item is bad, "" if the last is not.

        Of several times that it became bad the last counts.
        """
        since = ""
        for each in self.versions:
            found = each.items.get(item)
            bad = found is not None and found.good is False
            since = (since or each.version) if bad else ""
        return since


def changes(old: VersionJudged, new: VersionJudged) -> list[VersionChange]:
    """Return what a later version says otherwise, sorted by item."""
    names = sorted({*old.items, *new.items})
    pairs = (VersionChange(n, old.items.get(n), new.items.get(n)) for n in names)
    return [each for each in pairs if each.old != each.new]


def in_order(versions: Sequence[str]) -> list[str]:
    """Return versions oldest first: by their numbers if all have only these.

    Otherwise the order in which they were added stands, which is the one given.
    """
    found = [_NUMBERS.fullmatch(each) for each in versions]
    if not all(found):
        return list(versions)
    return sorted(versions, key=_numbers)


def _numbers(version: str) -> list[int]:
    return [int(each) for each in version.removeprefix("v").split(".")]


@dataclass(frozen=True, slots=True)
class FirstBad:
    """Where something became worse: in ``version``, and not yet in ``after``.

    ``between`` could not be judged, so one of them may be the first. ``against`` are
    versions that say the change is not one: bad before it, or good after it.
    """

    after: str
    version: str
    worse: tuple[VersionChange, ...]
    between: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
