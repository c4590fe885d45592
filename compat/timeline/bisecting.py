"""The first bad version, found in as many judgements as it takes to halve a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from compat.verdicts.timeline import (
    WORSE,
    FirstBad,
    VersionChange,
    VersionJudged,
    changes,
)

Judge: TypeAlias = Callable[[str], "VersionJudged | None"]
"""Judges a version, or returns None if that is not possible."""


class NothingToFindError(ValueError):
    """Versions between which nothing became worse, or whose ends cannot be judged."""


class Bisection:
    """A search over versions in order, the first of which is taken for good.

    What is bad is bad compared with the first version: what failed there already is not
    a change. With an ``item``, only that one counts.
    """

    def __init__(self, versions: Sequence[str], judge: Judge, item: str = "") -> None:
        self._versions = tuple(versions)
        self._judge = judge
        self._item = item
        self._known: dict[str, VersionJudged | None] = {}

    @property
    def judged(self) -> tuple[str, ...]:
        """The versions that were judged, in their order."""
        return tuple(each for each in self._versions if self._known.get(each))

    def first_bad(self) -> FirstBad:
        """Search, and return what was found; raises NothingToFindError.

        A version that cannot be judged is passed by for one beside it.
        """
        good, bad = 0, len(self._versions) - 1
        for end in (good, bad):
            if self._judged(end) is None:
                raise NothingToFindError(f"{self._versions[end]} could not be judged")
        if not self._worse(bad):
            what = f"{self._item} is not" if self._item else "nothing is"
            raise NothingToFindError(
                f"{what} worse in {self._versions[bad]} than in {self._versions[good]}"
            )
        while (at := self._between(good, bad)) is not None:
            if self._worse(at):
                bad = at
            else:
                good = at
        return FirstBad(
            self._versions[good],
            self._versions[bad],
            tuple(self._worse(bad)),
            self._versions[good + 1 : bad],
            tuple(self._against(good, bad)),
        )

    def _judged(self, at: int) -> VersionJudged | None:
        version = self._versions[at]
        if version not in self._known:
            self._known[version] = self._judge(version)
        return self._known[version]

    def _worse(self, at: int) -> list[VersionChange]:
        first, here = self._judged(0), self._judged(at)
        if first is None or here is None:
            return []
        found = [each for each in changes(first, here) if each.kind in WORSE]
        return [each for each in found if self._item in {"", each.item}]

    def _between(self, good: int, bad: int) -> int | None:
        """Return the judged version nearest to the middle, None if there is none."""
        middle = (good + bad) // 2
        up, down = range(middle + 1, bad), range(middle, good, -1)
        for pair in zip_longest(down, up):
            for at in pair:
                if at is not None and self._judged(at) is not None:
                    return at
        return None

    def _against(self, good: int, bad: int) -> Iterator[str]:
        """Yield versions that say otherwise, of those that were judged anyway."""
        for at, version in enumerate(self._versions):
            if self._known.get(version) is None or good < at < bad:
                continue
            if bool(self._worse(at)) != (at >= bad):
                yield version
