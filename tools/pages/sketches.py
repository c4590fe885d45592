"""Where the sketches of seeds 002 and 004 fail in their own language, as tables.

    python -m tools.pages sketches

plays both sketches in all fixed worlds, and writes the tables of ``docs/sketches.md``.
It needs Node.js.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from compat.dialects.callbacks import callbacks_profile
from compat.dialects.stream_loop import loop_profile
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.dialect import Dialect, DialectDoor, DialectMutant
from property_tests.dialects.dialects import dialect_named
from property_tests.dialects.matrix import killed
from property_tests.matrix import ERROR
from refengine.postures import AnyProfile, choosing
from tools.pages.blocks import DOCS, row, table

PAGE: Final = DOCS / "sketches.md"
BLOCK: Final = re.compile(r"(<!-- (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sketch:
    """A sketch in TypeScript: its door, its profile, and ours, under which it fails."""

    engine: str
    dialect: str
    profile: str
    ours: str
    profile_named: Callable[[str], AnyProfile]


SKETCHES: Final[Mapping[str, Sketch]] = MappingProxyType(
    {
        "loop": Sketch(
            "typescript-loop-sketch",
            "stream-loop",
            "loop-adr",
            "loop-safe",
            loop_profile,
        ),
        "callbacks": Sketch(
            "typescript-callbacks-sketch",
            "callbacks",
            "callbacks-v2-sketch",
            "callbacks-v2",
            callbacks_profile,
        ),
    }
)
"""Both, by what they are called in the page."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A fault of a sketch as a mutant has it: what shows it, and what is not asked."""

    posture: str
    option: str
    mutant: str
    fails: tuple[str, ...]
    holds: tuple[str, ...]
    not_asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SketchFound:
    """What came of a sketch: its faults, and what it fails under its own profile."""

    rows: tuple[FaultRow, ...]
    own: tuple[str, ...]


class PlayedOnce:
    """A door that plays each world once, however often that is judged."""

    def __init__(self, door: DialectDoor) -> None:
        self.name, self.version = door.name, door.version
        self.profile, self.capabilities = door.profile, door.capabilities
        self._door = door
        self._played: dict[str, Any] = {}

    def play(self, scenario: BaseModel) -> Any:  # noqa: ANN401  # a dialect's own type
        """Return the trace of a world; raises what broke it off."""
        key = scenario.model_dump_json()
        if key not in self._played:
            try:
                self._played[key] = self._door.play(scenario)
            except Exception as error:  # noqa: BLE001  # it is raised again below
                self._played[key] = error
        found = self._played[key]
        if isinstance(found, Exception):
            raise found
        return found

    def failed(
        self, family: Dialect, profile: AnyProfile
    ) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the clauses that it fails under a profile, and those asked."""
        self.profile = profile
        as_mutant = DialectMutant(
            id=self.name,
            about="the sketch",
            violates=(),
            door=lambda: self,
            under=profile.name,
        )
        asked = WorldDecider(family, self, family.checks).applying
        return killed(family, as_mutant, family.fixed(), full=True).by, frozenset(asked)


def judged(sketch: Sketch) -> SketchFound:
    """Play a sketch, and judge it with each of its choices as ours would be.

    So what it fails then and not under its own profile comes of that choice alone.
    """
    family = dialect_named(sketch.dialect)
    own = sketch.profile_named(sketch.profile)
    door = PlayedOnce(family.load(sketch.engine, sketch.profile))
    at_home, _ = door.failed(family, own)
    rows: list[FaultRow] = []
    for posture, option, mutant in faults(family, sketch):
        ours = getattr(sketch.profile_named(sketch.ours), posture)
        failed, asked = door.failed(family, choosing(own, posture, ours))
        rows.append(_row(posture, option, mutant, failed, asked))
    return SketchFound(tuple(rows), at_home)


def faults(family: Dialect, sketch: Sketch) -> Iterator[tuple[str, str, DialectMutant]]:
    """Yield the postures in which a sketch differs from ours, each with its mutant."""
    theirs, ours = map(sketch.profile_named, (sketch.profile, sketch.ours))
    for mutant in family.mutants:
        instead: Mapping[str, str] = getattr(mutant.door(), "instead", {})
        for posture, option in instead.items():
            if getattr(theirs, posture) == option != getattr(ours, posture):
                yield posture, option, mutant


def _row(
    posture: str,
    option: str,
    mutant: DialectMutant,
    failed: tuple[str, ...],
    asked: frozenset[str],
) -> FaultRow:
    there = [each for each in mutant.violates if each in asked]
    return FaultRow(
        posture,
        option,
        mutant.id,
        tuple(each for each in there if each in failed),
        tuple(each for each in there if each not in failed),
        tuple(each for each in mutant.violates if each not in asked),
    )


def shown(found: SketchFound) -> str:
    """Return what was found as a table, and a line about the rest."""
    lines = [
        *table("choice of the sketch", "mutant", "fails as that", "holds", "not asked")
    ]
    for each in found.rows:
        clauses = (", ".join(x) for x in (each.fails, each.holds, each.not_asked))
        posture = f"`{each.posture}`: {each.option}"
        lines.append(row(posture, f"`{each.mutant}`", *clauses))
    own = ", ".join(x for x in found.own if x != ERROR) or "no clause"
    dies = ", and ends its process in some worlds" if ERROR in found.own else ""
    lines += ["", f"Under its own profile the sketch fails {own}{dies}."]
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return a page with its tables made anew."""

    def block(match: re.Match[str]) -> str:
        return match[1] + "\n" + shown(judged(SKETCHES[match[2]])) + "\n" + match[3]

    return BLOCK.sub(block, page)
