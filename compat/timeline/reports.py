"""Reports of judgements, read as what is kept of them over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from compat.report.migration_json import FolderReport, PairReport
from compat.verdicts.timeline import TimelineError, TimelineItem, VersionJudged
from refengine.testing.given_text import read_json
from refengine.testing.json_values import is_mapping

_CONFORM: Final = "refengine conform ENGINE --json FILE"
_MIGRATE: Final = "refengine migrate check … --json FILE"
_GOOD: Final[Mapping[str, bool | None]] = {
    "pass": True,
    "fail": False,
    "error": False,
    "not-applicable": None,
    "blocked": None,
}


class _Part(BaseModel):
    """What is read of a judgement of engines; the rest of the report is its own."""

    model_config = ConfigDict(frozen=True)


class _Result(_Part):
    clause: str
    verdict: str
    known: str


class _Engine(_Part):
    engine: str
    results: list[_Result]


class _Header(_Part):
    tool: str
    versions: dict[str, str]


class _Judgement(_Part):
    header: _Header
    digest: str
    engines: list[_Engine]


def read_report(
    path: Path, version: str = "", subject: str = ""
) -> tuple[VersionJudged, ...]:
    """Return what a report says, of each engine or of the migration.

    ``version`` and ``subject`` stand in place of what the report says. An engine's are
    its own; a migration has no version, and of a folder no name. Raises
    TimelineError, or OSError.
    """
    tree = _tree(path)
    try:
        if "engines" in tree:
            found = [*_of_engines(_Judgement.model_validate(tree), version, subject)]
        elif "each" in tree:
            found = [_of_folder(FolderReport.model_validate(tree), version, subject)]
        elif "holds" in tree:
            found = [_of_pair(PairReport.model_validate(tree), version, subject)]
        else:
            raise _no_report(path, "it is not a report")
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise _no_report(path, f"{where} is none of one") from None
    return tuple(_whole(path, each) for each in found)


def read_folder(path: Path, version: str) -> VersionJudged:
    """Return what a report of a folder said; raises TimelineError, or OSError."""
    if "each" not in _tree(path):
        what = "it is not a report of a folder"
        raise TimelineError(
            f"{path}: {what}; {_MIGRATE.replace('…', '--all')} writes one"
        )
    [found] = read_report(path, version, "migration")
    return found


def _tree(path: Path) -> Mapping[str, Any]:
    try:
        tree = read_json(path.read_bytes())
    except ValueError:
        raise _no_report(path, "it is not JSON") from None
    if not is_mapping(tree):
        raise _no_report(path, "it is not a report")
    return tree


def _no_report(path: Path, problem: str) -> TimelineError:
    return TimelineError(f"{path}: {problem}; {_CONFORM} and {_MIGRATE} write one")


def _whole(path: Path, found: VersionJudged) -> VersionJudged:
    if not found.subject:
        raise TimelineError(f"{path}: says no name: give one with --subject")
    if not found.version:
        raise TimelineError(f"{path}: says no version: give one with --version")
    if not found.items:
        raise TimelineError(f"{path}: nothing was judged in it")
    return found


def _of_engines(
    report: _Judgement, version: str, subject: str
) -> Iterator[VersionJudged]:
    for each in report.engines:
        items = (_clause(result) for result in each.results)
        yield VersionJudged(
            subject or each.engine.partition("@")[0],
            version or report.header.versions.get(each.engine, ""),
            _by_name(items),
            report.digest,
            report.header.tool,
        )


def _clause(result: _Result) -> TimelineItem:
    good = _GOOD.get(result.verdict, False)
    said = f"{result.verdict}, known" if result.known else result.verdict
    return TimelineItem(result.clause, said, good)


def _of_folder(report: FolderReport, version: str, subject: str) -> VersionJudged:
    items = (
        TimelineItem(f"{each.piece}/{each.case}", each.got, each.met)
        for each in report.each
    )
    tool = f"refengine {report.header.refengine}"
    return VersionJudged(subject, version, _by_name(items), report.hash, tool)


def _of_pair(report: PairReport, version: str, subject: str) -> VersionJudged:
    names = [each for each in (report.header.old, report.header.new) if each]
    code = report.divergence.code if report.divergence else ""
    said = code or report.holds or "not judged"
    item = TimelineItem("migration", said, report.exit == 0)
    return VersionJudged(
        subject or " → ".join(names),
        version,
        {item.name: item},
        report.hash,
        f"refengine {report.header.refengine}",
    )


def _by_name(items: Iterable[TimelineItem]) -> dict[str, TimelineItem]:
    return {each.name: each for each in items}
