"""``refengine migrate check --all``: a folder of migrations, told as it goes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.cli.migrate_files import ReportFiles, from_root, header_of
from compat.cli.migrate_options import reach_lines, wire_lines_of
from compat.cli.spread_on import spread_on
from compat.verdicts.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from compat.migration.folder import Piece
    from compat.migration.kept_pieces import KeptPieces
    from compat.migration.subject_runner import CheckOptions
    from compat.verdicts.migration import JudgedCase
    from compat.verdicts.timeline import VersionJudged

CHECK: Final = "migrate check"


def judge_folder(  # noqa: PLR0913  # what the options say of a folder
    folder: Path,
    how: CheckOptions,
    files: ReportFiles,
    on: str | None,
    earlier: Sequence[VersionJudged] = (),
    *,
    reports: bool,
    resume: bool,
    verbose: bool,
) -> int:
    """Judge its pieces, tell each case as it comes, and write what was asked for.

    ``earlier`` are reports of the folder, the oldest first.
    """
    from compat.migration.folder import folder_code, pieces_in
    from compat.migration.kept_pieces import KeptPieces
    from compat.report.migration import folder_lines
    from compat.report.migration_json import folder_json, report
    from compat.report.migration_since import since_lines
    from compat.report.terminal import console
    from compat.wire.scrubbing.scrubber import json_without_secrets, output_scrubber

    pieces = pieces_in(folder)
    out = console(output_scrubber().text)
    kept = KeptPieces.of(folder, how) if how.wire is None else None
    told = _Told(out, pieces)
    try:
        with told.shown():
            found = told.resumed(kept if resume else None)
            cases = _judged(pieces, how, on, told, found, kept)
        code = folder_code(cases)
        if kept is not None:
            kept.forget()
    except KeyboardInterrupt:
        cases, code = told.cases, INTERRUPTED
        out.print(told.interrupted(kept=kept is not None))
    lines = folder_lines(cases, reports=reports, verbose=verbose)
    for line in (*wire_lines_of(how), *reach_lines(how), *lines):
        out.print(line)
    if code == INTERRUPTED:
        earlier = ()  # what was not judged would be told as gone
    for line in since_lines(cases, earlier):
        out.print(line, markup=False)

    def document() -> Mapping[str, object]:
        header = header_of(how, *(case.verdict for case in cases))
        body = json_without_secrets(folder_json(cases))
        return report(body, json_without_secrets(header), code)

    placed = [replace(e, file=from_root(folder / e.piece / e.case)) for e in cases]
    files.write(document, placed, earlier)
    return code


def read_earlier(paths: Sequence[Path]) -> tuple[VersionJudged, ...]:
    """Read reports of the folder, each called as its file; leave if one is none."""
    from compat.cli.command import refusing
    from compat.timeline.reports import read_folder
    from compat.verdicts.timeline import TimelineError

    names = [each.stem for each in paths]
    with refusing(CHECK, TimelineError, OSError):
        return tuple(
            read_folder(path, str(path) if names.count(path.stem) > 1 else path.stem)
            for path in paths
        )


def _judged(  # what the options say of a folder
    pieces: Sequence[Piece],
    how: CheckOptions,
    on: str | None,
    told: _Told,
    found: Mapping[Path, Sequence[JudgedCase]],
    kept: KeptPieces | None,
) -> list[JudgedCase]:
    """Return all cases in the order of the folder, judged or ``found`` before."""
    from compat.migration.folder import judge_pieces, judge_spread

    of = dict(found)

    def whole(piece: Piece, cases: Sequence[JudgedCase]) -> None:
        of[piece.folder] = cases
        if kept is not None:
            kept.keep(piece, cases)

    left = [each for each in pieces if each.folder not in of]
    with spread_on(CHECK, on, shown=False) as spread:
        if spread is None:
            judge_pieces(left, how, told.done, whole)
        else:
            judge_spread(spread, left, how, told.done, whole)
    return [case for piece in pieces for case in of[piece.folder]]


class _Told:
    """What is said while pieces are judged: a line a case, and how far it has come."""

    def __init__(self, out: Console, pieces: Sequence[Piece]) -> None:
        self.cases: list[JudgedCase] = []
        self._out = out
        self._pieces = pieces
        self._many = sum(len(each.settings.cases) for each in pieces)
        self._bar: Progress | None = None

    def done(self, case: JudgedCase) -> None:
        """Tell a case that was judged."""
        from compat.report.migration import case_line

        self.cases.append(case)
        self._out.print(case_line(case))
        self._advance(1)

    def resumed(self, kept: KeptPieces | None) -> Mapping[Path, Sequence[JudgedCase]]:
        """Return the cases that an interrupted check judged, and tell how many."""
        if kept is None:
            return {}
        from compat.report.conform_text import counted

        each = ((piece.folder, kept.cases(piece)) for piece in self._pieces)
        found = {folder: cases for folder, cases in each if cases is not None}
        self.cases += (case for cases in found.values() for case in cases)
        many, pieces = len(self.cases), counted(len(self._pieces), "piece")
        said = f"resumed: {counted(many, 'case')} of {len(found)} of {pieces}"
        self._out.print(said if found else "nothing to resume: all is judged anew")
        self._advance(many)
        return found

    def interrupted(self, *, kept: bool) -> str:
        """Return what is said of a check that was interrupted."""
        from compat.report.conform_text import counted

        said = f"INTERRUPTED  after {len(self.cases)} of {counted(self._many, 'case')}"
        more = "; --resume goes on with the pieces that are left"
        return f"{said}{more}" if kept else said

    @contextmanager
    def shown(self) -> Generator[None, None, None]:
        """Show at a terminal how many cases are judged, and what time is left."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # Where both are a terminal the bar has to know of the lines above it.
        live = self._out if self._out.is_terminal else Console(stderr=True)
        columns = (
            TextColumn("cases"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        off = not live.is_terminal or live.is_dumb_terminal
        with Progress(*columns, console=live, transient=True, disable=off) as self._bar:
            self._bar.add_task("cases", total=self._many)
            yield

    def _advance(self, many: int) -> None:
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], many)
