"""``refengine failure list|replay``: failures that were written down."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, group, option, refuse, refusing
from compat.cli.values import ENGINE, PATH, at_least
from compat.verdicts.exit_codes import DIFFERS, FAULT, NOTHING_RAN, OK, USAGE
from property_tests.defaults import FAILURES, TIMEOUT
from refengine.errors import RefengineError, error

if TYPE_CHECKING:
    from rich.text import Text

    from property_tests.failures import FailureFile, OpenedDoor, ReplayedWorld


COMMAND: Final = "failure replay"

app = group("List failures that were written down, and play one again.")


@error
class OtherEngineError(RefengineError, ValueError):
    """The engine that is named is not the one that failed."""

    path: Path
    recorded: str
    given: str
    says = (
        "{path} is a failure of engine {recorded!r}, and {given!r} is another:"
        " name {recorded!r}, or choose a file of {given!r}"
    )


@error
class OtherProfileError(RefengineError, ValueError):
    """The engine is not under the profile that the failure was found under."""

    path: Path
    recorded: str
    given: str
    says = "{path} was found under {recorded!r}, and the engine is under {given!r}"


@app.command("list")
@argument("folder", "a folder of failure files", PATH, default=FAILURES)
def list_(folder: Path) -> int:
    """List the failures of a folder, a line each.

    Exit codes: 0 there are some, 2 the folder or a file cannot be read, 4 there
    are none.
    """
    from rich.console import Console

    from property_tests.failures import FailureFileError, failure_files, read_failure

    with refusing("failure list", OSError):
        paths = list(failure_files(folder))
    console = Console(highlight=False, soft_wrap=True)
    bad = 0
    for path in paths:
        try:
            console.print(_line(path, read_failure(path)))
        except (FailureFileError, OSError) as error:
            bad += 1
            sys.stderr.write(f"refengine failure list: {error}\n")
    if not paths:
        sys.stderr.write(f"refengine failure list: no failure files in {folder}\n")
    return USAGE if bad else OK if paths else NOTHING_RAN


def _line(path: Path, failure: FailureFile) -> Text:
    from rich.text import Text

    from compat.report.plain_text import plain

    line = Text(f"{path}  {failure.clause}", "bold")
    who = f"{plain(failure.engine)} ({plain(failure.profile)})"
    return line.append(f"  {who}  {plain(failure.asked)}", "default")


@app.command()
@argument("file", "a failure file", PATH)
@argument("engine", "the engine, as for conform", ENGINE)
@option("--timeout", about="seconds", kind=at_least(0.1), default=TIMEOUT)
def replay(file: Path, engine: str, timeout: float) -> int:
    """Play the world of a failure again, under the profile it was found under.

    Exit codes: 0 fixed, 1 it still fails, 2 the file cannot be read or is another
    engine's, 3 the engine or its door broke down, 4 its check decides nothing there.
    """
    from rich.console import Console

    from property_tests.all_clauses import with_others
    from property_tests.failures import FailureFileError, read_failure
    from property_tests.judging.engine_workers import UnusableEngineError
    from property_tests.registry import UnknownSelectorError, contract

    with refusing(COMMAND, FailureFileError, OSError, UnknownSelectorError):
        failure = read_failure(file)
        with_others(contract()).clause(failure.clause)
    with refusing(COMMAND, OtherEngineError, OtherProfileError, UnusableEngineError):
        found = _replayed(file, failure, engine, timeout)
    console = Console(highlight=False, soft_wrap=True)
    for line in lines(failure, found):
        console.print(line)
    if found.usage:
        refuse(COMMAND, found.usage)
    return code_of(found)


def _replayed(
    file: Path, failure: FailureFile, engine: str, timeout: float
) -> ReplayedWorld:
    """Play it in a child of its own; the profile is asked for only where it must be.

    An engine that has just one takes none, and has the right one if it failed.
    """
    from property_tests.dialects.replaying import opened_door
    from property_tests.failures import opened_engine
    from refengine.testing.scenario import Scenario

    opened = opened_engine if isinstance(failure.world, Scenario) else opened_door
    try:
        with opened(failure, engine, None, timeout) as door:
            return replayed_on(door, file, failure)
    except OtherProfileError:
        with opened(failure, engine, failure.profile, timeout) as door:
            return replayed_on(door, file, failure)


def replayed_on(door: OpenedDoor, file: Path, failure: FailureFile) -> ReplayedWorld:
    """Play a failure on the engine that was opened.

    Raises OtherEngineError and OtherProfileError, before anything is played.
    """
    from property_tests.failures import replayed

    said = door.said
    if "usage" in said or "broken" in said:
        return replayed(failure.clause, said)
    if said["name"] != failure.engine:
        raise OtherEngineError(file, failure.engine, str(said["name"]))
    if said["profile"] != failure.profile:
        raise OtherProfileError(file, failure.profile, str(said["profile"]))
    return door.replay(failure.clause, failure.world)


def code_of(found: ReplayedWorld) -> int:
    """Return the exit code for what came of a replay."""
    if found.usage:
        return USAGE
    if found.broken:
        return FAULT
    if found.failure is not None or found.blocked is not None:
        return DIFFERS
    return OK if found.holds else NOTHING_RAN


def lines(failure: FailureFile, found: ReplayedWorld) -> Iterator[Text]:
    """Yield what is said about a replay, for a person."""
    from rich.text import Text

    from compat.report.conform_failure import failure_texts
    from compat.report.conform_text import counted
    from compat.report.plain_text import plain

    who = f"{failure.clause} on {plain(failure.engine)} ({plain(failure.profile)})"
    if found.broken:
        yield Text(f"error: {who}: {plain(found.broken)}", "bold red")
    elif (now := found.failure or found.blocked) is not None:
        what = "still fails" if found.failure is not None else "blocked"
        yield Text(f"{what}: {who}", "bold red")
        shown = failure_texts(now)
        yield Text(f"  asked     {shown.asked}  [{shown.variant}]")
        yield Text(f"  expected  {shown.expected}")
        yield Text(f"  got       {shown.got}")
        if shown.differs:
            yield Text(f"  {shown.differs}")
    elif found.holds:
        decided = counted(found.decided, "decision")
        yield Text(f"fixed: {who}: {decided}, all for it", "green")
    elif not found.usage:
        yield Text(f"not decided: {who}: {plain(found.lost)}", "yellow")
