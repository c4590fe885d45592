"""Checks of migrations as one HTML page that needs nothing beside it.

A table of cases; each leads to what came of it: a sentence, old and new in two columns
along what was observed, the smallest world as code, and the whole report folded away.
The page loads nothing and runs no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from compat.report.conform_text import counted
from compat.report.counterexample import code
from compat.report.divergence_sentence import sentence
from compat.report.glossary import PageWords
from compat.report.migration import NEXT, facts, lines, which_world
from compat.report.migration_basis import version_lines
from compat.report.migration_for_ci import name_of
from compat.report.migration_headline import headline_of, holds_weakly
from compat.report.migration_since import since_lines, told_before
from compat.report.pages import page
from compat.report.plain_text import plain
from compat.report.values import Beside, paired, rows_beside
from compat.verdicts.migration import JudgedCase, Migration
from compat.verdicts.timeline import VersionJudged

Kind: TypeAlias = Literal["good", "weak", "bad", "none"]
"""Which colour a verdict has; ``none`` where nothing was decided."""
KINDS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "bad": "diverging",
        "none": "not judged",
        "weak": "holding weakly",
        "good": "holding",
    }
)
"""What cases of each kind are called in a count, the worst first."""


@dataclass(frozen=True, slots=True)
class CasePart:
    """One case as the page shows it; texts are plain, and in one line each."""

    name: str
    before: Sequence[tuple[str, str]]
    """What earlier reports said of it, each with the kind of its colour."""
    kind: Kind
    case: JudgedCase
    answer: str
    """The headline of the report, as a terminal shows it."""
    lead: str
    """What the sentence is about where all that is required holds."""
    sentence: str
    sharpness: str
    facts: Sequence[tuple[str, str]]
    beside: Sequence[Beside]
    world: str
    """What the world is that stands there as code."""
    code: Sequence[str]
    report: Sequence[str]

    @property
    def opened(self) -> bool:
        """Whether it is shown before somebody asks for it."""
        return not self.case.met or self.kind != "good"


def page_text(
    cases: Sequence[JudgedCase], earlier: Sequence[VersionJudged] = ()
) -> str:
    """Return the text of the page; ``earlier`` are reports, the oldest first."""
    met = sum(case.met for case in cases)
    count = f"{counted(len(cases), 'case')}, {met} met"
    built = {k: v for case in cases for k, v in case.verdict.frameworks.items()}
    parts = [_part(case, earlier) for case in cases]
    return page(
        "migration",
        words=PageWords(),
        count=count,
        built=", ".join(f"{name} {version}" for name, version in built.items()),
        kinds=[*_kinds(parts)],
        earlier=[plain(each.version) for each in earlier],
        since=[plain(line) for line in since_lines(cases, earlier) if line],
        sharp=any(each.sharpness for each in parts),
        parts=parts,
    )


def _kinds(parts: Sequence[CasePart]) -> Iterator[tuple[Kind, str]]:
    """Yield how many cases have which verdict, with its colour."""
    for kind, word in KINDS.items():
        many = sum(each.kind == kind for each in parts)
        if many:
            yield kind, f"{many} {word}"


def _part(case: JudgedCase, earlier: Sequence[VersionJudged]) -> CasePart:
    verdict, found = case.verdict, case.verdict.divergence
    return CasePart(
        name=plain(name_of(case)),
        before=[(plain(said), kind) for said, kind in told_before(case, earlier)],
        kind=_kind(case),
        case=case,
        answer=plain(headline_of(verdict)[0]),
        lead=NEXT if verdict.sufficient else "",
        sentence="" if found is None else plain(sentence(found, verdict.world)),
        sharpness=_sharpness(verdict),
        facts=[*_facts(verdict)],
        beside=[*_beside(verdict)],
        world=which_world(verdict),
        code=[*_code(verdict)],
        report=[plain(line.plain) for line in lines(verdict)],
    )


def _kind(case: JudgedCase) -> Kind:
    verdict = case.verdict
    undecided = verdict.nothing_ran or verdict.idle or verdict.crashed
    if verdict.fault is not None or verdict.noise or undecided:
        return "none"
    if not verdict.sufficient or verdict.broken:
        return "bad"
    return "weak" if verdict.stale or holds_weakly(verdict) else "good"


def _sharpness(verdict: Migration) -> str:
    found = verdict.sharpness
    if found is None or not found.tried:
        return ""
    return f"{found.percent:.0f} %"


def _facts(verdict: Migration) -> Iterator[tuple[str, str]]:
    """Yield names and values of what stands above the columns."""
    yield from (("versions", plain(each)) for each in version_lines(verdict.versions))
    found = verdict.divergence
    told = () if found is None else facts(found, verdict)
    yield from ((name, plain(text)) for name, text in told)


def _beside(verdict: Migration) -> Iterator[Beside]:
    found = verdict.divergence
    for left, sign, right in paired([*rows_beside(found.lines)] if found else []):
        yield plain(left), sign, plain(right)


def _code(verdict: Migration) -> Iterator[str]:
    found, world = verdict.divergence, verdict.world
    if found is not None and world is not None:
        yield from map(plain, code(world, found.called))
