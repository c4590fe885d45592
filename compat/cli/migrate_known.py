"""``refengine migrate known``: what is documented to change between two releases."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from compat.cli.command import argument, command, option, refuse, refusing
from compat.cli.values import OUTPUT_FOLDER
from compat.verdicts.exit_codes import NOTHING_RAN, OK

if TYPE_CHECKING:
    from compat.migration.known_changes import ChangeRow

KNOWN: Final = "migrate known"


@command()
@argument("package", "whose changes are listed: langchain")
@argument("first", "the release that you have: 1.4", metavar="FROM")
@argument("last", "the release that you go to: 1.5", metavar="TO")
@option(
    "--subjects",
    about="write the code that shows each change there, to be checked",
    kind=OUTPUT_FOLDER,
    metavar="DIR",
)
def known(*, package: str, first: str, last: str, subjects: Path | None) -> int:
    """List the documented changes of a package from one release to another.

    Each was seen by a run with the release before it and with its own. What is not
    listed may change all the same: play your code with both releases.

    Exit codes: 0 listed, 2 a mistake in what was given, or a package of which no
    changes are written down, 4 none is written down between these releases.
    """
    from compat.environments.releases import ReleasesError
    from compat.migration.known_changes import (
        ReleaseRangeError,
        UnknownPackageError,
        changes_between,
    )

    mistakes = ReleaseRangeError, UnknownPackageError, ReleasesError
    with refusing(KNOWN, *mistakes):
        found = changes_between(package, first, last)
    if not found:
        what = f"{package}: no change from {first} to {last} is written down"
        refuse(KNOWN, f"{what}, which does not say that there is none", NOTHING_RAN)
    if subjects is not None:
        with refusing(KNOWN, OSError):
            _write(found, subjects)
    for each in found:
        click.echo(_shown(each, subjects))
    return OK


def _write(rows: Iterable[ChangeRow], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for each in rows:
        (folder / _file(each)).write_text(each.subject.lstrip(), "utf-8")


def _file(row: ChangeRow) -> str:
    return f"{row.id.replace('-', '_')}.py"


def _shown(row: ChangeRow, folder: Path | None) -> str:
    lines = [
        f"{row.package} {row.since}",
        row.says,
        f"{row.code} in {row.channel}, for code with {', '.join(row.concerns)}",
        row.link,
    ]
    if folder is not None:
        lines.append(_line(row, folder))
    return "\n  ".join(lines)


def _line(row: ChangeRow, folder: Path) -> str:
    """Return the command that shows a change."""
    import shlex

    sides = [
        word
        for side, version in (("old", row.before), ("new", row.since))
        for each in (*row.base, f"{row.package}=={version}")
        for word in (f"--{side}-with", each)
    ]
    return shlex.join(
        ["refengine", "migrate", "check", str(folder / _file(row)), *sides]
    )
