"""``python -m refengine`` and the console script: the way to ``compat.cli``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command; exits with its code, and with 130 if that is interrupted."""
    try:
        from compat.cli.main import main as run  # noqa: PLC0415  # the floor on top

        run(arguments)
    except KeyboardInterrupt:  # while modules are imported
        sys.exit(130)


def _leave_working_directory() -> None:
    """Drop the working directory from the path, as ``python -m`` puts it there.

    ``compat`` is a generic name, and a user may have a folder of that name.
    """
    if sys.path and sys.path[0] in {"", os.getcwd()}:  # noqa: PTH109  # no pathlib yet
        del sys.path[0]


if __name__ == "__main__":
    _leave_working_directory()
    main()
