"""``refengine migrate check``: judge a pair of sides, or a folder of them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from compat.cli.command import (
    REPORTS_PART,
    SHARP_PART,
    SIDES_PART,
    WORLDS_PART,
    argument,
    flag,
    group,
    is_given,
    option,
    refuse,
    refusing,
)
from compat.cli.migrate_bisect import bisect
from compat.cli.migrate_files import ReportFiles, from_root, header_of, writing
from compat.cli.migrate_folder import judge_folder, read_earlier
from compat.cli.migrate_known import known as list_known
from compat.cli.migrate_options import (
    GENERATED,
    REQUIRE,
    SECONDS,
    SEED,
    TOOLS,
    WORLDS,
    reach_lines,
    reaching,
    wire_lines_of,
)
from compat.cli.migrate_programs import (
    ProgramOptions,
    of_programs,
    spoken_json,
    spoken_lines,
)
from compat.cli.migrate_recordings import RecordedOld, of_recordings, recorded_json
from compat.cli.migrate_scan import scan
from compat.cli.migrate_sides import SideOptions, of_sides
from compat.cli.shared_options import CLUSTER, engine_profile
from compat.cli.values import FILE_THERE, OUTPUT_FOLDER, PATH, at_least, one_of
from compat.migration.options import (
    DOMAINS,
    ORDINARY,
    SEARCH_PLAYS,
    SHARPNESS_PLAYS,
    Reach,
    UnknownWordError,
    known,
    plays_of_changes,
)
from compat.verdicts.relations import RELATIONS
from refengine.errors import UnknownProfileError
from refengine.profile import profile as named_profile

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from compat.migration.check import Checked
    from compat.migration.given import GivenData
    from compat.migration.subject_runner import CheckOptions
    from compat.migration.surroundings import AskedSides
    from compat.report.next_step import NextStep
    from compat.verdicts.migration import Migration

CHECK: Final = "migrate check"
NO_SCRIPT: Final = (
    "--reproducer writes a script that imports both sides, so they have to be in"
    " Python; leave it out, and give the world that the report shows to a test of yours"
)

NEEDS_TWO: Final = (
    "the run is kept by one process and resumed by another, and a script has one for"
    " each side; --no-hand-over leaves such runs out"
)

OF_FOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "on": "--cluster shares the pieces of a folder: it goes with --all",
        "reports": "--reports goes with --all; a pair is always reported on",
        "earlier": "--earlier is a report of a folder: it goes with --all",
        "resume": "--resume goes on with the pieces of a folder: it goes with --all",
    }
)
"""What means nothing for a pair, and why."""

app = group("Check that migrated middleware still does the same.")


@app.command()
@argument(
    "subjects", "module:name, file.py:name or file.py", nargs=-1, metavar="OLD NEW"
)
@option(
    "--old-commit",
    "old",
    about="OLD of an earlier commit: REV:file.py:name",
    metavar="SUBJECT",
    formerly=("--old",),
    part=SIDES_PART,
)
@option(
    "--old-engine",
    about="what OLD is played on if it is not in Python: eino@0.7.37, ai-sdk@4",
    metavar="NAME",
    part=SIDES_PART,
)
@option("--new-engine", about="the same of NEW", metavar="NAME", part=SIDES_PART)
@option("--all", "every", about="judge every migration.toml of this folder", kind=PATH)
@REQUIRE
@option(
    "--settings",
    about="a migration.toml: volatile fields, allowances of NEW",
    kind=PATH,
)
@WORLDS
@TOOLS
@option(
    "--domain",
    about="which worlds decide: the ordinary ones, or all, with the unusual ones",
    kind=one_of(*DOMAINS),
    default=ORDINARY,
    part=WORLDS_PART,
)
@GENERATED
@option(
    "--search-plays",
    about="plays of the search that follows where it holds; none with --all",
    kind=at_least(0),
    default=SEARCH_PLAYS,
    part=WORLDS_PART,
)
@SEED
@SECONDS
@engine_profile(
    "the profile of the engine that plays both sides",
    part=WORLDS_PART,
    default="seed-001",
)
@option(
    "--reproducer",
    about="write a script that shows the divergence",
    kind=OUTPUT_FOLDER,
    metavar="DIR",
    part=REPORTS_PART,
)
@option(
    "--sharpness-plays",
    about="plays of small changes of both [default: 2000, with --all or --wire 0]",
    kind=at_least(0),
    part=SHARP_PART,
)
@option(
    "--min-sharpness",
    about="percent of the small changes of each side that have to be noticed",
    kind=at_least(0.0, 100.0),
    default=0.0,
    metavar="PCT",
    part=SHARP_PART,
)
@flag(
    "--hand-over/--no-hand-over",
    about="have NEW resume runs that OLD kept; done if both are one piece of code",
    default=True,
    part=SIDES_PART,
)
@flag("--strict", about="what holds weakly does not pass: exit code 4")
@CLUSTER
@flag(
    "--verbose",
    "-v",
    about="show counts of hooks and the hash of the worlds, too",
)
@flag("--reports", about="with --all: report on every case, not only those not met")
@flag(
    "--resume",
    about="with --all: go on where an interrupted check of the folder ended",
)
@option(
    "--earlier",
    about="with --all: a report of the folder that --json wrote before; what changed"
    " since is told, the oldest first",
    kind=FILE_THERE,
    multiple=True,
    part=REPORTS_PART,
)
@flag(
    "--wire",
    about="have graphs ask a server on loopback through ChatOpenAI",
    part=WORLDS_PART,
)
@writing
@reaching
@of_sides
@of_recordings
@of_programs
def check(  # noqa: PLR0913  # the options of the command
    *,
    subjects: tuple[str, ...],
    old: str | None,
    old_engine: str | None,
    new_engine: str | None,
    every: Path | None,
    require: str | None,
    settings: Path | None,
    worlds: tuple[Path, ...],
    tools: tuple[Path, ...],
    domain: str,
    examples: int,
    search_plays: int,
    seed: int,
    timeout: float,
    profile: str,
    reproducer: Path | None,
    sharpness_plays: int | None,
    min_sharpness: float,
    hand_over: bool,
    strict: bool,
    on: str | None,
    verbose: bool,
    reports: bool,
    resume: bool,
    earlier: tuple[Path, ...],
    wire: bool,
    files: ReportFiles,
    reach: Reach,
    around: SideOptions,
    recorded: RecordedOld,
    programs: ProgramOptions,
) -> int:
    """Play OLD and NEW in the same worlds and tell whether NEW does the same.

    A subject is a function subject(world) that returns a list of struct middlewares or
    handlers, the configuration of an agent, a graph of LangGraph or LangChain, or an
    agent of Google's ADK or of pydantic-ai. A whole program, in any language, is given
    as a command. OLD may be a recording. The answer is the strongest relation that
    holds, with the smallest world that breaks the next one.

    Exit codes: 0 what is required holds, 1 it diverges, 2 a mistake in what was given,
    3 a side hung or ended, 4 a hook was never entered, nothing ran, too few small
    changes would have been noticed, or it holds weakly with --strict, 5 an allowance or
    mark is not used, 6 not comparable: a side differs from itself. If several apply,
    the first of 2, 3, 4, 6, 1, 5 wins.
    """
    files.check(CHECK)
    with refusing(CHECK, UnknownProfileError, UnknownWordError):
        name = named_profile(profile).name
        if require is not None:
            known(require, RELATIONS, "relation")
    handed = hand_over and is_given("hand_over")
    if unfit := _wrong_wire(
        wire=wire, reproducer=bool(reproducer), strict=strict, handed=handed
    ):
        refuse(CHECK, unfit)
    sides = [*([] if old is None else [old]), *subjects]
    asked = _around(around, settings) if around or settings else ()
    if reproducer is not None and any(asked):
        refuse(
            CHECK, "--reproducer plays both sides in one process, with what that has"
        )
    if len(sides) == 1 and old is None and any(asked) and not recorded:
        sides *= 2  # one piece of code, with other things around it
    engines = (old_engine, new_engine)
    others = (
        *(sides, every, tools, wire, reproducer, reports, min_sharpness, strict),
        *(*engines, handed, resume, earlier),
    )
    wrong = programs.wrong(any((*others, *asked, recorded)))
    wrong = wrong or recorded.wrong(sides, any((*others[1:], old, worlds, on)))
    if every is None:
        one_sided = bool(programs or recorded)
        given = {"on": on, "reports": reports, "resume": resume, "earlier": earlier}
        wrong = wrong or _wrong_pair(sides, given, one_sided=one_sided)
    else:
        paths = settings, reproducer, files.world
        pairs = sides, *paths, require, worlds, tools, *engines, around
        wrong = wrong or _wrong_folder(on, wire=wire, resume=resume, pairs=any(pairs))
    if wrong:
        refuse(CHECK, wrong)
    from compat.migration.check import over_the_wire
    from compat.migration.folder import mistakes
    from compat.migration.subject_runner import CheckOptions

    fast = every is not None and not strict
    plays = _plays(sharpness_plays, min_sharpness, wire=wire, several=fast)
    how = CheckOptions(
        examples,
        seed,
        timeout,
        name,
        domain=domain,
        reach=reach,
        search_plays=search_plays,
        sharpness_plays=plays,
        min_sharpness=min_sharpness,
        strict=strict,
        hand_over=handed or (hand_over and not wire and _is_one_code(sides)),
    )
    if programs:
        with refusing(CHECK, *mistakes()):
            how = replace(how, given=_given(None, worlds, ()))
            return _programs(programs, how, require, settings, files, verbose=verbose)
    said = asked or around.asked(None)
    with refusing(CHECK, *mistakes()):
        if recorded:
            line = recorded, sides[0], said, how, require, settings, files
            return _recorded(*line, verbose=verbose)
        how = replace(how, given=_given(settings, worlds, tools))
    before = read_earlier(earlier)
    playing = over_the_wire(how) if wire else nullcontext(how)
    with refusing(CHECK, *mistakes()), playing as how:
        if every is not None:
            shown = {"reports": reports, "resume": resume, "verbose": verbose}
            return judge_folder(every, how, files, on, before, **shown)
        pair = sides, engines, said, how, require, settings, files, reproducer
        return _pair(*pair, verbose=verbose)


def _is_one_code(sides: list[str]) -> bool:
    """Tell whether the sides are one piece of code, one of them perhaps earlier.

    A rewrite has other nodes and handlers, so it would be accused of what no rewrite
    can keep. Whoever switches with runs still waiting says so.
    """
    return len(sides) == 2 and f":{sides[0]}".endswith(f":{sides[1]}")


def _around(around: SideOptions, settings: Path | None) -> AskedSides:
    """Return what is asked for around each side, on the line or in a file."""
    from compat.migration.folder import mistakes

    with refusing(CHECK, *mistakes()):
        return around.asked(settings)


def _wrong_pair(
    sides: list[str], given: Mapping[str, object], *, one_sided: bool
) -> str:
    """Return what is wrong with the line of a pair, "" if nothing is."""
    for name, why in OF_FOLDERS.items():
        if given[name]:
            return why
    if not sides and not one_sided:
        from compat.cli.migrate_here import here_lines

        return "\n".join(("give OLD and NEW.", *here_lines()))
    if len(sides) != 2 and not one_sided:
        given_now = f"{len(sides)} given: {', '.join(sides)}"
        alone = "; for one file in two versions of a package add --old-with, --new-with"
        return f"give OLD and NEW; {given_now}{alone * (len(sides) == 1)}"
    return ""


def _wrong_wire(*, wire: bool, reproducer: bool, strict: bool, handed: bool) -> str:
    """Return what does not go with --wire, "" if all does."""
    if wire and reproducer:
        return "--reproducer plays in process, so not with --wire"
    if wire and handed:
        return "runs are handed over in process, so --hand-over is not for --wire"
    if wire and strict:
        return "what holds over the wire holds weakly, so --strict is not for --wire"
    return ""


def _wrong_folder(on: str | None, *, wire: bool, resume: bool, pairs: bool) -> str:
    """Return what is wrong with the line of a folder, "" if nothing is."""
    if pairs:
        return "--all takes all else from each migration.toml"
    if resume and wire:
        return "what is played over the wire is not kept, so --resume is not for --wire"
    if on is not None and wire:
        return "--cluster has workers play in process, so not with --wire"
    return ""


def _given(
    settings: Path | None, worlds: tuple[Path, ...], tools: tuple[Path, ...]
) -> GivenData:
    from compat.migration.folder import given_of
    from compat.migration.given import read_given

    return read_given(worlds, tools).joined(given_of(settings))


def _plays(given: int | None, least: float, *, wire: bool, several: bool) -> int:
    """Return how often small changes are played; a folder is judged fast without."""
    usual = 0 if wire or several else SHARPNESS_PLAYS
    with refusing(CHECK, ValueError):
        plays = plays_of_changes(given, least, usual)
    if wire and plays:
        refuse(CHECK, "small changes are played in process, so not with --wire")
    return plays


def _pair(  # noqa: PLR0913, PLR0917  # what the options say of a pair
    sides: list[str],
    engines: tuple[str | None, str | None],
    asked: AskedSides,
    how: CheckOptions,
    require: str | None,
    settings: Path | None,
    files: ReportFiles,
    reproducer: Path | None,
    *,
    verbose: bool,
) -> int:
    from compat.migration import check as checking
    from compat.migration.check import refuse_unfit
    from compat.migration.folder import engines_of, terms_of
    from compat.migration.refs import PYTHON, parse_ref
    from compat.migration.reproducer import check_folder
    from compat.migration.surroundings import surrounded

    old, new = parse_ref(sides[0], revisions=True), parse_ref(sides[1])
    terms = terms_of(settings, new, require)
    said = engines_of(settings, new)
    old, new = (
        replace(ref, engine=given or declared)
        for ref, given, declared in zip((old, new), engines, said, strict=True)
    )
    refuse_unfit((old, new), how)
    if reproducer is not None:
        if old.language != PYTHON:
            refuse(CHECK, f"{old}: {NO_SCRIPT}")
        check_folder(reproducer)
    with (
        surrounded(old, [new], asked) as (old, [new]),
        progress_of(how) as shown,
    ):
        found = checking.check(old, new, terms, shown)
    # The verdict first: what becomes of files is no part of it.
    world = found.verdict.world
    again = files.next_step(
        new.text if new.file is None else new.file.name,
        alone=old.language == PYTHON and not (how.wire or any(asked)),
        handed=world is not None and world.hand_over is not None,
        scripted=reproducer,
    )
    out = _show(found.verdict, how, wire_lines_of(how), again=again, verbose=verbose)
    if reproducer is not None:
        out.print(f"\n{_reproduced(found, reproducer, how.profile)}")
    return _write_pair(files, found.verdict, how, (str(old), str(new)), file=new.file)


def _programs(
    programs: ProgramOptions,
    how: CheckOptions,
    require: str | None,
    settings: Path | None,
    files: ReportFiles,
    *,
    verbose: bool,
) -> int:
    from compat.migration.programs.commands import words_in
    from compat.wire.errors import MissingWireExtraError

    try:
        from compat.migration.programs.checking import check_programs, terms_of_program
    except ModuleNotFoundError as error:  # its server is an extra
        raise MissingWireExtraError(str(error.name)) from error

    old, new = programs.commands
    words = () if programs.source is None else words_in(programs.source)
    how = replace(how, reach=replace(how.reach, services=programs.services))
    terms = terms_of_program(settings, new, require)
    with progress_of(how) as shown:
        found = check_programs(old, new, terms, shown, words)
    again = files.next_step(new.text, alone=False)
    _show(found.verdict, how, spoken_lines(found), again=again, verbose=verbose)
    said = str(old), str(new)
    return _write_pair(files, found.verdict, how, said, spoken_json(found))


def _recorded(  # noqa: PLR0913, PLR0917  # what the options say of it
    recorded: RecordedOld,
    new: str,
    asked: AskedSides,
    how: CheckOptions,
    require: str | None,
    settings: Path | None,
    files: ReportFiles,
    *,
    verbose: bool,
) -> int:
    with progress_of(how) as shown:
        verdict = recorded.judged(new, asked, shown, require, settings)
    _show(verdict, how, verbose=verbose)
    said = ", ".join(str(each) for each in recorded.files), new
    return _write_pair(files, verdict, how, said, recorded_json(verdict))


def _show(
    verdict: Migration,
    how: CheckOptions,
    more: Iterable[Text | str] = (),
    *,
    verbose: bool,
    again: NextStep | None = None,
) -> Console:
    """Print what is said of one verdict; return where."""
    from compat.report.migration import lines
    from compat.report.terminal import console
    from compat.wire.scrubbing.scrubber import output_scrubber

    out = console(output_scrubber().text)
    told = lines(verdict, verbose=verbose, again=again, width=out.width)
    for line in (*told, *more, *reach_lines(how)):
        out.print(line)
    return out


def _write_pair(
    files: ReportFiles,
    verdict: Migration,
    how: CheckOptions,
    sides: tuple[str, str],
    more: Mapping[str, object] | None = None,
    *,
    file: Path | None = None,
) -> int:
    """Write the files of one verdict; return its exit code.

    ``file`` is NEW's, if it has one.
    """
    from compat.migration.check import code_of
    from compat.report.migration_json import report, to_json
    from compat.verdicts.migration import JudgedCase
    from compat.wire.scrubbing.scrubber import json_without_secrets

    code = code_of(verdict)

    def document() -> Mapping[str, object]:
        printed = {side: list(e.printed) for side, e in verdict.exercise.items()}
        header = {**header_of(how, verdict), "old": sides[0], "new": sides[1]}
        head = json_without_secrets({**header, **(more or {}), "printed": printed})
        return report(json_without_secrets(to_json(verdict)), head, code)

    got = verdict.holds or "nothing"
    if verdict.fault is not None:
        got = verdict.fault.kind
    elif verdict.divergence is not None and not verdict.sufficient:
        got = verdict.divergence.code
    name = f"{sides[0]} → {sides[1]}"
    met = code == 0
    case = JudgedCase("", name, verdict.required, got, met, verdict, from_root(file))
    files.write(document, [case])
    return code


def _reproduced(found: Checked, folder: Path, name: str) -> str:
    from compat.migration.reproducer import write_reproducer

    if found.verdict.divergence is None:
        return "No divergence was found, so no reproducer is written."
    if found.verdict.world is not None and found.verdict.world.hand_over:
        return f"No reproducer is written: {NEEDS_TWO}"
    script = write_reproducer(folder, found.verdict, found.files, name)
    return f"Reproduce it: python {script}"


@contextmanager
def progress_of(how: CheckOptions) -> Generator[CheckOptions, None, None]:
    """Show how far a command has come, on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

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

        try:
            yield replace(how, progress=show)
        except KeyboardInterrupt as end:
            of = bar.tasks[task]
            at = "" if of.total is None else f" {of.completed:,} of {of.total:,}"
            end.args = (f"({of.description}{at}), nothing is judged yet",)
            raise


for each in (scan, bisect, list_known):
    app.add_command(each)
