"""``refengine env list|clean``: the environments that sides were run with."""

from __future__ import annotations

from typing import Final

from compat.cli.command import argument, group, refuse, refusing
from compat.verdicts.exit_codes import FAULT, OK

CLEAN: Final = "env clean"

app = group("List and remove the environments that --old-with and --new-with made.")


@app.command("list")
def list_() -> int:
    """List the environments that are kept, with what each was made of.

    They are made by migrate check, and a later one with the same requirements takes
    what is there.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from compat.environments.cache import cache, environments
    from compat.wire.scrubbing.scrubber import output_scrubber

    said = output_scrubber().text
    table = Table(box=None, pad_edge=False)
    for title in ("name", "Python", "packages"):
        table.add_column(title, no_wrap=True)
    table.add_column("made of", ratio=1)
    with refusing("env list", OSError, ValueError):
        for each in environments():
            made_of = Text(said(each.made_of))
            table.add_row(each.name, each.python, str(each.packages), made_of)
    console = Console(highlight=False)
    if table.row_count:
        console.print(table)
    console.print(Text(f"{table.row_count} in {cache()}"), soft_wrap=True)
    return OK


@app.command("clean")
@argument("names", "as env list shows them; all without", nargs=-1, metavar="NAME")
def clean(names: tuple[str, ...]) -> int:
    """Remove environments that are kept; one that a check uses now stays.

    Exit codes: 0 removed, 3 one stays.
    """
    from compat.environments.cache import environments, remove, remove_left

    with refusing(CLEAN, OSError, ValueError):
        there = {each.name: each.folder for each in environments()}
        unknown = [each for each in names if each not in there]
        if unknown:
            known = ", ".join(there) or "none"
            refuse(CLEAN, f"there is no environment {unknown[0]!r}; there are {known}")
        remove_left()
        wanted = tuple(dict.fromkeys(names or there))
        used = [name for name in wanted if not remove(there[name])]
    removed = len(wanted) - len(used)
    print(f"{removed} removed" + "".join(f"\n{each} is in use" for each in used))  # noqa: T201  # the answer
    return FAULT if used else OK
