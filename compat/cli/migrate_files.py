"""The files that ``refengine migrate check`` writes, by the options that name them."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from compat.cli.command import (
    REPORTS_PART,
    line_again,
    option,
    refusing,
)
from compat.cli.values import OUTPUT
from compat.report.plain_text import write_text

if TYPE_CHECKING:
    from compat.migration.subject_runner import CheckOptions
    from compat.report.next_step import NextStep
    from compat.verdicts.migration import JudgedCase, Migration
    from compat.verdicts.timeline import VersionJudged

F = TypeVar("F", bound=Callable[..., int])


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """Where the report goes besides the terminal; None where it does not."""

    json: Path | None = None
    markdown: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    world: Path | None = None
    sarif: Path | None = None

    def check(self, command: str) -> None:
        """Refuse two files at one path, before the work."""
        if sum(each is not None for each in asdict(self).values()) < 2:
            return  # and nothing is loaded for it
        from compat.report.conform_files import SamePathError, check_paths

        with refusing(command, SamePathError):
            check_paths(asdict(self))

    def next_step(
        self,
        case: str,
        *,
        alone: bool,
        handed: bool = False,
        scripted: Path | None = None,
    ) -> NextStep:
        """Return how to keep what shows a divergence, unless that is asked for.

        ``case`` is NEW. ``alone`` tells that a script could show it without the
        harness, ``scripted`` is the folder in which one is asked for, and ``handed``
        tells that it is of a run which OLD kept.
        """
        from compat.report.next_step import NextStep

        if scripted is not None:
            return NextStep(case=case, world=f"{scripted}/world.json")
        if handed:
            does = "leaves such runs out, if none is kept on the day of the change"
            return NextStep(f"{line_again()} --no-hand-over", does, case)
        if self.world is not None:
            return NextStep(case=case, world=str(self.world))
        if alone:
            does = "writes a script that shows it without the harness, and its world"
            again = f"{line_again()} --reproducer repro"
            return NextStep(again, does, case, "repro/world.json")
        does = "writes the smallest world that shows it"
        return NextStep(f"{line_again()} --save-world world.json", does, case)

    def write(
        self,
        document: Callable[[], Mapping[str, object]],
        cases: Sequence[JudgedCase],
        earlier: Sequence[VersionJudged] = (),
    ) -> None:
        """Write them; ``document`` makes that for machines. Raises OSError."""
        from compat.report.migration_for_ci import (
            annotation_lines,
            junit_text,
            markdown_text,
        )
        from compat.report.migration_json import dump
        from compat.report.migration_page import page_text
        from compat.report.migration_sarif import sarif_text
        from compat.wire.scrubbing.scrubber import output_scrubber

        scrubbed = output_scrubber().text
        wanted: tuple[tuple[Path | None, Callable[[], str]], ...] = (
            (self.json, lambda: dump(document())),
            (self.markdown, lambda: scrubbed(markdown_text(cases))),
            (self.junit, lambda: scrubbed(junit_text(cases))),
            (self.html, lambda: scrubbed(page_text(cases, earlier))),
            (self.sarif, lambda: scrubbed(sarif_text(cases, _sentences()))),
        )
        for path, text in wanted:
            if path is not None:
                write_text(path, text())
        if self.world is not None:
            self._write_world(self.world, [case.verdict for case in cases])
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in annotation_lines(cases):
                sys.stdout.write(f"{scrubbed(line)}\n")

    def _write_world(self, path: Path, verdicts: Sequence[Migration]) -> None:
        from compat.migration.reproducer import world_text

        worlds = [v.world for v in verdicts if v.divergence and v.world]
        if worlds:
            write_text(path, world_text(worlds[0]))
        else:
            sys.stderr.write(f"no divergence was found, so {path} is not written\n")


def from_root(file: Path | None) -> str:
    """Return a file as a code host names it: from the checkout of a job, or here.

    "" where there is none.
    """
    return "" if file is None or not file.is_file() else relative_to_job(file)


def relative_to_job(path: Path) -> str:
    """Return a path from the checkout of a job, or from here."""
    return os.path.relpath(path, os.environ.get("GITHUB_WORKSPACE") or Path.cwd())


def header_of(how: CheckOptions, *verdicts: Migration) -> dict[str, object]:
    """Return what a report says of the machine, and of how was judged."""
    from importlib.metadata import version

    from compat.report.migration_json import given_json, wire_json
    from compat.warm import WARM

    given = [file for each in verdicts for file in each.given]
    frameworks = {k: v for each in verdicts for k, v in each.frameworks.items()}
    versions = {k: [*v] for each in verdicts for k, v in each.versions.items()}
    sides = (pair for each in verdicts for pair in each.exercise.items())
    setups = {side: asdict(each.setup) for side, each in sides if each.setup}
    return {
        **({"versions": versions} if versions else {}),
        **({"setups": setups} if setups else {}),
        **({"frameworks": frameworks} if frameworks else {}),
        **({"given": given_json(given)} if given else {}),
        "refengine": version("refengine"),
        "python": platform.python_version(),
        "profile": how.profile,
        "examples": how.examples,
        "seed": how.seed,
        **how.reach.header,
        **({} if how.wire is None else {"wire": wire_json(how.wire.summary)}),
        **({"started_alone": list(WARM.reasons)} if WARM.reasons else {}),
    }


def _sentences() -> Mapping[str, str]:
    """Return what each code of a divergence says of NEW."""
    from compat.migration.codes import CODES

    return {name: code.summary for name, code in CODES.items()}


def writing(check: F) -> F:
    """Add the options that name files: the command's parameter ``files``."""

    @option(
        "--json",
        about="write the whole report to this file",
        kind=OUTPUT,
        part=REPORTS_PART,
    )
    @option(
        "--markdown",
        about="write one for a CI's summary",
        kind=OUTPUT,
        part=REPORTS_PART,
    )
    @option(
        "--junit",
        about="write one for a CI that reads JUnit",
        kind=OUTPUT,
        part=REPORTS_PART,
    )
    @option(
        "--html",
        about="write it as a page, old and new beside",
        kind=OUTPUT,
        part=REPORTS_PART,
    )
    @option(
        "--save-world",
        about="write the smallest world that diverges: for an allowance, or --worlds",
        kind=OUTPUT,
        part=REPORTS_PART,
    )
    @option(
        "--sarif",
        about="write what differs for a code host",
        kind=OUTPUT,
        part=REPORTS_PART,
    )
    @wraps(check)
    def written(
        *,
        json: Path | None,
        markdown: Path | None,
        junit: Path | None,
        html: Path | None,
        save_world: Path | None,
        sarif: Path | None,
        **more: Any,  # noqa: ANN401  # the other options of the command
    ) -> int:
        files = ReportFiles(json, markdown, junit, html, save_world, sarif)
        return check(files=files, **more)

    return cast("F", written)
