"""What a run needs at its end, looked for before it begins: it may take long."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.statistics import drawing, scipy_optimize, scipy_stats
from refengine.errors import RefengineError


class OutputError(RefengineError):
    """A file that could not be written, were all measured."""

    def __init__(self, option: str, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"{option} {path}: {why}")


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Look for the libraries and the folders of files; measure and write nothing.

    The files are named by the option that asks for each, without its dashes. Raises
    WorldExtraError and OutputError.
    """
    scipy_stats()
    scipy_optimize()
    if files.get("html") is not None or files.get("plot") is not None:
        drawing()
    seen: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        option = f"--{name}"
        _check(option, path)
        where = path.resolve()
        if where in seen:
            raise OutputError(option, path, f"it is the file of {seen[where]}, too")
        seen[where] = option


def _check(option: str, path: Path) -> None:
    if path.is_dir():
        raise OutputError(option, path, "it is a folder: name a file")
    if not path.parent.is_dir():
        raise OutputError(option, path, "its folder does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputError(option, path, "it cannot be written")
