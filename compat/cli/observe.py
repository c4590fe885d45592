"""``refengine observe FILE…``: run rows of observed behaviour, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from compat.cli.command import argument, command, option, refusing
from compat.cli.shared_options import CLUSTER, engine_profile
from compat.cli.spread_on import spread_on
from compat.cli.values import ANY_PROFILE, OUTPUT, PATH
from compat.report.plain_text import write_text
from compat.verdicts.exit_codes import DIFFERS, FAULT, NOTHING_RAN, USAGE, exit_code
from refengine.errors import UnknownProfileError

if TYPE_CHECKING:
    from rich.text import Text

    from compat.observe.judging import RowVerdict

STYLES: Final = {
    "holds": "green",
    "differs": "bold red",
    "beyond": "yellow",
    "on_purpose": "cyan",
    "not_compared": "yellow",
}
"""How the word of each verdict is shown, in the order in which they are counted."""


@command()
@argument("files", "files of rows (JSON lists)", PATH, nargs=-1, required=True)
@engine_profile("compare only this profile's versions", ANY_PROFILE)
@option(
    "--json",
    "json_file",
    about="write counts and a list by id to this file",
    kind=OUTPUT,
)
@option("--html", about="write a page, what differs first", kind=OUTPUT)
@CLUSTER
def observe(
    *,
    files: tuple[Path, ...],
    profile: str | None,
    json_file: Path | None,
    html: Path | None,
    on: str | None,
) -> int:
    """Run rows of observed behaviour on the reference engine, a line each.

    Rows about single decisions of ADK run on the Flow dialect, under its profiles.

    holds: everything the row names was seen. DIFFERS: the first thing that was not.
    beyond: the row needs an operation outside the vocabulary. on purpose: a difference
    that is meant, with the reason. not compared: no profile stands for its versions.

    Exit codes: 0 no row differs, 1 a row differs, 2 a file, row or name that cannot be
    read, 3 the harness failed at a row, 4 no row was compared.
    """
    from compat.profiles.kinds import known_profile

    with refusing("observe", UnknownProfileError):
        profiles = None if profile is None else [known_profile(profile)[1].name]
    from compat.observe.judging import judged_rows, summary, to_json
    from compat.observe.rows import RowsError, read_rows
    from compat.report.observed import observed_page
    from compat.report.terminal import console

    with refusing("observe", RowsError, OSError):
        read = [row for file in files for row in read_rows(file)]
    rows = [row for row, _ in read]
    out = console()
    verdicts: list[RowVerdict] = []
    with spread_on("observe", on) as spread:
        for verdict in judged_rows(read, profiles, spread):
            verdicts.append(verdict)
            out.print(_line(verdict))
    found = summary(verdicts, rows)
    out.print(_counts(found))
    with refusing("observe", OSError):
        if json_file is not None:
            write_text(json_file, to_json(found))
        if html is not None:
            write_text(html, observed_page(found))
    return _code(verdicts)


def _line(verdict: RowVerdict) -> Text:
    from rich.text import Text

    from compat.report.observed import KINDS

    word, style = KINDS[verdict.status][0], STYLES[verdict.status]
    line = Text(f"{word:<13}", style=style)
    line.append(verdict.id, style="default")
    if verdict.detail:
        line.append(f"  {verdict.detail}", style="dim" if style == "green" else style)
    return line


def _counts(counts: Mapping[str, Any]) -> str:
    from compat.report.conform_text import counted
    from compat.report.observed import KINDS

    parts = ", ".join(
        f"{counts[status]} {KINDS[status][0].lower()}" for status in STYLES
    )
    text = f"\n{counted(counts['rows'], 'row')}: {parts}"
    compared = ", ".join(f"{v} {n}" for v, n in counts["compared"].items() if n)
    without = ", ".join(counts["versions_without_profile"]) or "none"
    versions = f"rows compared by version: {compared or 'none'}"
    return f"{text}\n{versions}; without profile: {without}"


def _code(verdicts: list[RowVerdict]) -> int:
    codes = [DIFFERS for verdict in verdicts if verdict.status == "differs"]
    codes += [FAULT for verdict in verdicts if verdict.fault]
    codes += [USAGE for verdict in verdicts if verdict.unknown]
    if not any(v.status in {"holds", "differs", "on_purpose"} for v in verdicts):
        codes.append(NOTHING_RAN)
    return exit_code(*codes)


app = observe
