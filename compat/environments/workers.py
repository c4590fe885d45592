"""The Python that workers run with: our own, or that of an environment.

    with worker_python(environment, ("langgraph==1.0.*",)) as python:
        ChildProcess(python.command("property_tests.judging.worker"), env=python.env)

A worker imports the harness from where it is installed here (``compat.process``), with
``pydantic`` alone of all that it needs. It also looks up what is told of the
installation, such as the names of engines, so that is copied to where it finds it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from compat.environments.cache import SideEnvironment, kept
from compat.environments.naming import packages_of
from compat.process import python
from refengine.testing.owned import folder_prefix


@dataclass(frozen=True, slots=True)
class WorkerPython:
    """A Python for workers, and what was asked for to be in it; none if it is ours."""

    executable: Path = Path(sys.executable)
    env: Mapping[str, str] | None = None
    packages: tuple[str, ...] = ()

    def command(self, main: str, *more: str) -> Sequence[str]:
        """Return what starts a module of ours with it, as ``compat.process`` has it."""
        return python(main, *more, executable=self.executable)


OURS: Final = WorkerPython()


@contextmanager
def chosen_python(packages: tuple[str, ...]) -> Generator[WorkerPython, None, None]:
    """Yield the Python in which these packages are, made first if there is none.

    It is ours where none is named. Raises as ``packages_of`` and ``kept`` do.
    """
    if not packages:
        yield OURS
        return
    with (
        kept(packages_of(packages, Path.cwd())) as made,
        worker_python(made, packages) as python,
    ):
        yield python


@contextmanager
def worker_python(
    environment: SideEnvironment, packages: tuple[str, ...]
) -> Generator[WorkerPython, None, None]:
    """Yield the Python of an environment, for as long as workers run with it."""
    with TemporaryDirectory(prefix=folder_prefix()) as place:
        _copy_metadata(Path(place))
        users = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join(filter(None, (place, users)))
        env = {**os.environ, **environment.variables, "PYTHONPATH": path}
        yield WorkerPython(environment.python, env, packages)


def _copy_metadata(place: Path) -> None:
    """Copy what is told of our installation, and no other that stands beside it."""
    ours = distribution("refengine")
    told = next(f for f in ours.files or () if f.name == "METADATA")
    folder = Path(str(ours.locate_file(told))).parent
    shutil.copytree(folder, place / folder.name)
