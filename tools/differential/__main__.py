"""Play generated worlds on two engines, and tell what differs without a reason.

    python -m tools.differential flow google-adk --worlds 1000 --seed 0
    python -m tools.differential eino eino@0.9.13 --worlds 2000 --seed 0 --on local:2

The first word says of which kind the agents are: ``flow``, or ``eino`` for agents
with hooks. Ours is the reference of that kind, under the profile of theirs.

Fails if there is a difference, and if an entry of the file of explained differences
explained nothing, not even in the world that it has itself. A difference is told as
soon as it is found, of each kind the first, and again when its world has been made
smaller; the other worlds are played all the same.

With ``--on`` worlds are drawn and made smaller here, and played by workers.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Final

import click

from compat.cli.on import ON, spread_on
from compat.engines.load_errors import LoadError
from refengine.errors import UnknownProfileError
from tools.differential.explaining import read_explained, unused
from tools.differential.parts import KINDS, SpreadLooks, engines_are_quiet
from tools.differential.searching import Differential

HERE: Final = Path(__file__).parent


@click.command(help=__doc__)
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("theirs")
@click.option("--profile", help="Of ours; that of THEIRS if none is named.")
@click.option("--worlds", default=1000, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--explained",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Differences that are known; KIND_THEIRS.toml beside this command if not.",
)
@click.option("--on", metavar="WORKERS", help=ON)
def main(  # noqa: PLR0913, PLR0917  # a command has as many options as it needs
    kind: str,
    theirs: str,
    profile: str | None,
    worlds: int,
    seed: int,
    explained: Path | None,
    on: str | None,
) -> None:
    """Play worlds on both and tell what came of it."""
    with engines_are_quiet():
        try:
            pair = KINDS[kind](theirs, profile)
            known = read_explained(explained or HERE / f"{kind}_{theirs}.toml")
        except (LoadError, UnknownProfileError, OSError, TypeError) as error:
            raise click.UsageError(str(error)) from error
        told = Differential(pair, known)
        tell = partial(click.echo, err=True)
        with spread_on("tools.differential", on) as spread:
            looks = (
                None
                if spread is None
                else SpreadLooks(spread, kind, theirs, profile, known)
            )
            used = told.run(worlds, seed, tell, looks)
    click.echo(f"{kind} under {pair.under} beside {theirs} {pair.version}:")
    for name, number in sorted(used.items()):
        click.echo(f"  {name}: explains differences in {number} worlds")
    if told.unexplained:
        for each in told.unexplained.values():
            click.echo(f"{each}\n  so in {each.worlds} of {told.worlds} worlds")
        sys.exit(1)
    left = unused(known, used)
    if left:
        click.echo(f"explain nothing, take them out: {', '.join(left)}")
        sys.exit(1)
    click.echo(f"  {told.worlds} worlds, no unexplained difference")
    if told.lucky:
        click.echo(f"  {told.lucky} not compared, as luck decides there")


if __name__ == "__main__":
    main()
