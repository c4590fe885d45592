"""What ``--cluster`` names: the workers on which a command plays."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compat.cli.command import refusing
from compat.verdicts.exit_codes import FAULT

if TYPE_CHECKING:
    from rich.progress import Progress

    from compat.spreading import Spread, UnitData


@contextmanager
def spread_on(
    command: str, on: str | None, *, shown: bool = True
) -> Generator[Spread | None, None, None]:
    """Yield the workers that ``--cluster`` names, None without it.

    At a terminal it is shown how many units all of them have done, unless the command
    shows its own way. What is wrong with them, or with a unit, ends the command.
    """
    if on is None:
        yield None
        return
    from compat.cluster.opened import (
        ClusterAddressError,
        ClusterError,
        LostUnitError,
        opened,
    )
    from compat.spreading import RefusedUnitError

    wrong = ClusterAddressError, ClusterError, RefusedUnitError
    with (
        refusing(command, *wrong),
        refusing(command, LostUnitError, code=FAULT),
        opened(on) as spread,
        _bar(shown=shown) as bar,
    ):
        yield spread if bar is None else _Shown(spread, bar)


@contextmanager
def _bar(*, shown: bool) -> Generator[Progress | None, None, None]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    live = Console(stderr=True)
    if not shown or not live.is_terminal:
        yield None
        return
    text = TextColumn("{task.description}")
    columns = text, BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=live, transient=True) as bar:
        yield bar


class _Shown:
    """Workers, and a bar that shows how many units they have done."""

    def __init__(self, spread: Spread, bar: Progress) -> None:
        self._spread = spread
        self._bar = bar

    def each(
        self, kind: str, units: Iterable[UnitData]
    ) -> Iterator[tuple[int, UnitData]]:
        total = len(units) if isinstance(units, Sized) else None
        task = self._bar.add_task(f"units: {kind}", total=total)
        try:
            for answer in self._spread.each(kind, units):
                self._bar.advance(task)
                yield answer
            self._bar.refresh()  # or the last unit may never be shown as done
        finally:
            self._bar.remove_task(task)
