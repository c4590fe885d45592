"""Play generated worlds on two engines, and tell the first difference without reason.

    python -m tools.differential flow google-adk --worlds 1000 --seed 0

Fails if there is one, shrunk to a small world, and if an entry of the file of explained
differences explained nothing, not even in the world that it has itself.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

import click

from compat.engines.flow.loading import load_flow_engine
from tools.differential.explaining import read_explained, unused
from tools.differential.flow import Differential

HERE: Final = Path(__file__).parent


@click.command(help=__doc__)
@click.argument("ours")
@click.argument("theirs")
@click.option("--profile", help="Of OURS; that of THEIRS if none is named.")
@click.option("--worlds", default=1000, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--explained",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Differences that are known; OURS_THEIRS.toml beside this command if not.",
)
def main(  # a command has as many options as it needs
    ours: str,
    theirs: str,
    profile: str | None,
    worlds: int,
    seed: int,
    explained: Path | None,
) -> None:
    """Play worlds on both and tell what came of it."""
    logging.disable(logging.CRITICAL)  # engines log each error that a world raises
    their_engine = load_flow_engine(theirs)
    our_engine = load_flow_engine(ours, profile or their_engine.profile.name)
    known = read_explained(explained or HERE / f"{ours}_{theirs}.toml")
    told = Differential(our_engine, their_engine, known)
    used = told.run(worlds, seed)
    under = our_engine.profile.name
    click.echo(f"{ours} under {under} beside {theirs} {their_engine.version}:")
    for name, number in sorted(used.items()):
        click.echo(f"  {name}: explains differences in {number} worlds")
    if told.unexplained is not None:
        world = told.unexplained.scenario.model_dump_json(exclude_defaults=True)
        click.echo(f"UNEXPLAINED {told.unexplained.difference}\n{world}")
        sys.exit(1)
    left = unused(known, used)
    if left:
        click.echo(f"explain nothing, take them out: {', '.join(left)}")
        sys.exit(1)
    click.echo(f"  {told.worlds} worlds, no unexplained difference")
    if told.lucky:
        click.echo(f"  {told.lucky} not compared, as the order of a map decides there")


if __name__ == "__main__":
    main()
