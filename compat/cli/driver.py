"""``refengine driver check CMD``: whether a program speaks the protocol of drivers."""

from __future__ import annotations

import shlex
import shutil

import click

from compat.cli.command import argument, group, option, refuse
from compat.cli.values import at_least
from compat.verdicts.exit_codes import DIFFERS, OK

app = group("Look at programs that play engines in any language.")


@app.command()
@argument("command", "how it is started, as one text")
@option("--timeout", about="seconds for one answer", kind=at_least(0.1), default=10.0)
def check(command: str, timeout: float) -> int:
    """Try every function of the protocol in a small world, a line for each.

    Exit codes: 0 all that it declares works, 1 something does not, 2 a mistake in
    what was given.
    """
    from compat.drivers.checking import check_driver

    words = shlex.split(command)
    if not words:
        refuse("driver check", "no command: name the program, with its arguments")
    if shutil.which(words[0]) is None:
        how = "give the command that starts the driver, as in 'python driver.py'"
        refuse("driver check", f"no program {words[0]!r}: {how}")
    found: list[str] = []
    for each in check_driver(words, timeout):
        why = f"  ({each.why})" if each.why else ""
        click.echo(f"{each.found:<13}{each.function}{why}")
        found.append(each.found)
    failed = found.count("FAILED")
    absent = found.count("not declared")
    click.echo(f"{found.count('ok')} ok, {failed} failed, {absent} not declared")
    return DIFFERS if failed else OK
