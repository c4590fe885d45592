"""The option ``--on``: on which workers a command plays."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from compat.cli.command import refusing
from compat.verdicts.exit_codes import FAULT

if TYPE_CHECKING:
    from compat.spreading import Spread

ON: Final = "play on the workers of local:N, or of a running scheduler of dask"


@contextmanager
def spread_on(command: str, on: str | None) -> Generator[Spread | None, None, None]:
    """Yield the workers that ``--on`` names, None without it.

    What is wrong with them ends the command.
    """
    if on is None:
        yield None
        return
    from compat.cluster.address import ClusterAddressError
    from compat.cluster.opened import ClusterError, LostUnitError, opened

    wrong = ClusterAddressError, ClusterError
    with (
        refusing(command, *wrong),
        refusing(command, LostUnitError, code=FAULT),
        opened(on) as spread,
    ):
        yield spread
