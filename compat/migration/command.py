"""``refengine migrate check``: tells whether migrated middleware does the same."""

from __future__ import annotations

import io
import platform
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from compat.commands import new_app, refuse, runner, told
from compat.migration.checking import Checked, check, over_the_wire
from compat.migration.folder import (
    NoPiecesError,
    folder_code,
    judge_pieces,
    pieces_in,
    terms_of,
)
from compat.migration.judging import Terms
from compat.migration.outcomes import code_of
from compat.migration.ref_errors import RefError
from compat.migration.refs import SubjectRef, parse_ref
from compat.migration.reproducer import NotOursError, check_folder, write_reproducer
from compat.migration.settings import SettingsError, UnknownWordError, known
from compat.migration.side import TIMEOUT
from compat.migration.side_player import EXAMPLES, Check
from compat.migration.wire_worlds import NoWorldsError
from compat.report.folder import case_line, folder_json, folder_lines
from compat.report.migration import lines
from compat.report.migration_json import dump, report, to_json
from compat.report.wire import wire_json, wire_lines
from compat.verdicts.migration import DEFAULT_RELATION, RELATIONS, JudgedCase, Migration
from compat.wire.errors import WireError
from refengine.errors import UnknownProfileError
from refengine.profile import profile
from refengine.testing.world import MissingExtraError

MISTAKES: Final = (
    RefError,
    SettingsError,
    NoPiecesError,
    NotOursError,
    NoWorldsError,
    UnknownProfileError,
    UnknownWordError,
    MissingExtraError,
    WireError,
    OSError,
)
"""What a user can get wrong: told in its own words, without a traceback."""

app = new_app("Check that migrated middleware still does the same.")


@app.callback()
def _migrate() -> None:
    """Check that migrated middleware still does the same."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for, read and checked."""

    how: Check
    require: str | None
    json_file: Path | None
    reproducer: Path | None


@app.command("check")
def check_command(  # noqa: PLR0913, PLR0917  # the options of the command
    subjects: Annotated[
        Optional[list[str]],  # noqa: UP045  # typer reads the annotation at run time
        typer.Argument(metavar="OLD NEW", help="module:name, file.py:name or file.py"),
    ] = None,
    old: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(help="OLD of an earlier commit: REV:file.py:name"),
    ] = None,
    every: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--all", help="judge every migration.toml of this folder"),
    ] = None,
    require: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(help=f"{', '.join(RELATIONS)} [default: {DEFAULT_RELATION}]"),
    ] = None,
    settings: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option(help="a migration.toml: volatile fields, allowances of NEW"),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="generated worlds")] = EXAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="of the generated worlds")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.01, help="seconds a world may take on one side")
    ] = TIMEOUT,
    profile_name: Annotated[
        str, typer.Option("--profile", help="the engine both sides are played on")
    ] = "seed-001",
    json_file: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--json", help="write the whole report to this file"),
    ] = None,
    reproducer: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option(metavar="DIR", help="write a script that shows the divergence"),
    ] = None,
    wire: Annotated[  # noqa: FBT002  # a flag, given by its name
        bool,
        typer.Option("--wire", help="graphs ask a server on loopback by ChatOpenAI"),
    ] = False,
) -> None:
    """Play OLD and NEW in the same worlds and tell whether NEW does the same.

    A subject is a function subject(world) that returns a list of struct middlewares or
    handlers, or the configuration of an agent. The answer is the strongest relation
    that holds, with the smallest world that breaks the next one.

    Exit codes: 0 what is required holds, 1 it diverges, 2 a mistake in what was given,
    3 a side hung or ended, 4 a hook was never entered or nothing ran, 5 an allowance
    is not used, 6 not comparable: a side differs from itself. If several apply, the
    first of 2, 3, 4, 6, 1, 5 wins.
    """
    with told("migrate check", *MISTAKES):
        how = Check(examples, seed, timeout, profile(profile_name).name)
        if require is not None:
            known(require, RELATIONS, "relation")
        if wire and reproducer is not None:
            refuse("migrate check", "--reproducer plays in process, so not with --wire")
        with over_the_wire(how) if wire else nullcontext(how) as how:
            wanted = Wanted(how, require, json_file, reproducer)
            if every is not None:
                _refuse_beside_all(subjects, old, settings, reproducer, require)
                raise typer.Exit(_folder(every, wanted))
            refs = _refs(subjects or [], old)
            raise typer.Exit(_pair(*refs, terms_of(settings, refs[1], require), wanted))


def _refuse_beside_all(*given: object) -> None:
    if any(given):
        refuse("migrate check", "--all takes all else from each migration.toml")


def _refs(subjects: Sequence[str], old: str | None) -> tuple[SubjectRef, SubjectRef]:
    given = [*([] if old is None else [old]), *subjects]
    if len(given) != 2:
        refuse("migrate check", f"give OLD and NEW; {len(given)} given: {given}")
    first = parse_ref(given[0], revisions=True)
    return first, parse_ref(given[1])


def _pair(old: SubjectRef, new: SubjectRef, terms: Terms, wanted: Wanted) -> int:
    if wanted.reproducer is not None:
        check_folder(wanted.reproducer)
    with _progress(wanted.how) as how:
        found = check(old, new, terms, how)
    code = code_of(found.verdict)
    # Files first: whoever reads the report through a pipe may stop in the middle.
    if wanted.json_file is not None:
        printed = {s: list(e.printed) for s, e in found.verdict.exercise.items()}
        header = {
            **_header(wanted.how, found.verdict),
            "old": str(old),
            "new": str(new),
        }
        full = report(to_json(found.verdict), {**header, "printed": printed}, code)
        wanted.json_file.write_text(dump(full), "utf-8")
    told = ""
    if wanted.reproducer is not None:
        told = _reproduced(found, wanted.reproducer, wanted.how.profile)
    console = _console()
    for line in (*lines(found.verdict), *_wire_lines(wanted.how)):
        console.print(line)
    if told:
        console.print(f"\n{told}")
    return code


def _console() -> Console:
    """Return a console that shows what the terminal's encoding has no letters for."""
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):  # a test may have put something else
        stdout.reconfigure(errors="backslashreplace")
    return Console(highlight=False, soft_wrap=True)


def _reproduced(found: Checked, folder: Path, name: str) -> str:
    if found.verdict.divergence is None:
        return "No divergence was found, so no reproducer is written."
    script = write_reproducer(folder, found.verdict, found.files, name)
    return f"Reproduce it: python {script}"


def _folder(folder: Path, wanted: Wanted) -> int:
    pieces = pieces_in(folder)
    console = _console()

    def done(case: JudgedCase) -> None:
        console.print(case_line(case))

    cases = judge_pieces(pieces, wanted.how, done)
    code = folder_code(cases)
    if wanted.json_file is not None:
        header = _header(wanted.how, *(case.verdict for case in cases))
        full = report(folder_json(cases), header, code)
        wanted.json_file.write_text(dump(full), "utf-8")
    for line in (*_wire_lines(wanted.how), *folder_lines(cases)):
        console.print(line)
    return code


def _wire_lines(how: Check) -> Iterable[Text]:
    return () if how.wire is None else wire_lines(how.wire.told)


def _header(how: Check, *verdicts: Migration) -> dict[str, object]:
    frameworks = {k: v for each in verdicts for k, v in each.frameworks.items()}
    return {
        **({"frameworks": frameworks} if frameworks else {}),
        "refengine": version("refengine"),
        "python": platform.python_version(),
        "profile": how.profile,
        "examples": how.examples,
        "seed": how.seed,
        **({} if how.wire is None else {"wire": wire_json(how.wire.told)}),
    }


@contextmanager
def _progress(how: Check) -> Generator[Check, None, None]:
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

        def told_so_far(phase: str, worlds: int, most: int) -> None:
            bar.update(task, description=phase, completed=worlds, total=most)

        yield replace(how, told=told_so_far)


main = runner(app, "migrate")
