"""What ``refengine migrate check`` does: judge a pair of sides, or a folder of them."""

from __future__ import annotations

import platform
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from compat.commands import told
from compat.migration.checking import Checked, check, code_of, over_the_wire
from compat.migration.command import CHECK, Wanted
from compat.migration.folder import (
    NoPiecesError,
    folder_code,
    judge_pieces,
    pieces_in,
    terms_of,
)
from compat.migration.refs import RefError, SubjectRef, parse_ref
from compat.migration.reproducer import NotOursError, check_folder, write_reproducer
from compat.migration.settings import SettingsError
from compat.migration.subject_runner import CheckOptions
from compat.migration.wire import NoWorldsError
from compat.report.folder import case_line, folder_json, folder_lines
from compat.report.migration import lines
from compat.report.migration_json import dump, report, to_json
from compat.report.terminal import console
from compat.report.wire import wire_json, wire_lines
from compat.verdicts.migration import JudgedCase, Migration
from compat.wire.errors import WireError
from refengine.profile import profile
from refengine.testing.world import WorldExtraError

MISTAKES: Final = (
    RefError,
    SettingsError,
    NoPiecesError,
    NotOursError,
    NoWorldsError,
    WorldExtraError,
    WireError,
    OSError,
)
"""What a user can get wrong: told in its own words, without a traceback."""


def check_migrations(wanted: Wanted) -> None:
    """Judge what the command line names and tell it; always raises typer.Exit."""
    name = profile(wanted.profile).name
    how = CheckOptions(wanted.examples, wanted.seed, wanted.timeout, name)
    wire = over_the_wire(how) if wanted.wire else nullcontext(how)
    with told(CHECK, *MISTAKES), wire as how:
        if wanted.every is not None:
            raise typer.Exit(_folder(wanted.every, wanted, how))
        raise typer.Exit(_pair(*_refs(wanted), wanted, how))


def _refs(wanted: Wanted) -> tuple[SubjectRef, SubjectRef]:
    old, new = wanted.sides
    return parse_ref(old, revisions=True), parse_ref(new)


def _pair(old: SubjectRef, new: SubjectRef, wanted: Wanted, how: CheckOptions) -> int:
    terms = terms_of(wanted.settings, new, wanted.require)
    if wanted.reproducer is not None:
        check_folder(wanted.reproducer)
    with _progress(how) as shown:
        found = check(old, new, terms, shown)
    code = code_of(found.verdict)
    # Files first: whoever reads the report through a pipe may stop in the middle.
    if wanted.json_file is not None:
        printed = {s: list(e.printed) for s, e in found.verdict.exercise.items()}
        header = {
            **_header(how, found.verdict),
            "old": str(old),
            "new": str(new),
        }
        full = report(to_json(found.verdict), {**header, "printed": printed}, code)
        wanted.json_file.write_text(dump(full), "utf-8")
    again = ""
    if wanted.reproducer is not None:
        again = _reproduced(found, wanted.reproducer, how.profile)
    out = console()
    for line in (*lines(found.verdict), *_wire_lines(how)):
        out.print(line)
    if again:
        out.print(f"\n{again}")
    return code


def _reproduced(found: Checked, folder: Path, name: str) -> str:
    if found.verdict.divergence is None:
        return "No divergence was found, so no reproducer is written."
    script = write_reproducer(folder, found.verdict, found.files, name)
    return f"Reproduce it: python {script}"


def _folder(folder: Path, wanted: Wanted, how: CheckOptions) -> int:
    pieces = pieces_in(folder)
    out = console()

    def done(case: JudgedCase) -> None:
        out.print(case_line(case))

    cases = judge_pieces(pieces, how, done)
    code = folder_code(cases)
    if wanted.json_file is not None:
        header = _header(how, *(case.verdict for case in cases))
        full = report(folder_json(cases), header, code)
        wanted.json_file.write_text(dump(full), "utf-8")
    for line in (*_wire_lines(how), *folder_lines(cases)):
        out.print(line)
    return code


def _wire_lines(how: CheckOptions) -> Iterable[Text]:
    return () if how.wire is None else wire_lines(how.wire.summary)


def _header(how: CheckOptions, *verdicts: Migration) -> dict[str, object]:
    frameworks = {k: v for each in verdicts for k, v in each.frameworks.items()}
    return {
        **({"frameworks": frameworks} if frameworks else {}),
        "refengine": version("refengine"),
        "python": platform.python_version(),
        "profile": how.profile,
        "examples": how.examples,
        "seed": how.seed,
        **({} if how.wire is None else {"wire": wire_json(how.wire.summary)}),
    }


@contextmanager
def _progress(how: CheckOptions) -> Generator[CheckOptions, None, None]:
    """Show how far a check has come, on a terminal only."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}"),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=None)

        def show(phase: str, worlds: int, most: int) -> None:
            bar.update(task, description=phase, completed=worlds, total=most)

        yield replace(how, progress=show)
