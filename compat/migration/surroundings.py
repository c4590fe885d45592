"""What is around each side of a check: the packages it runs with, and its setup.

    with surrounded(old, [new], asked) as (old, [new]):
        versions(old, new)

Where both sides are one piece of code, each is called by what is around it: ``agent.py,
with langchain==1.4.*``, or ``agent.py, plain``.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from compat.drivers.node_setups import SUFFIXES
from compat.environments.cache import SideEnvironment, kept
from compat.environments.naming import packages_of
from compat.environments.pythons import packages_in, packages_with
from compat.migration.refs import PYTHON, TYPESCRIPT, RefError, SubjectRef
from refengine.testing.subject_worlds.source import modules_of, python_source

PLAIN: Final = "plain"
ABSENT: Final = ""
"""The version of a package that a side does not have."""


@dataclass(frozen=True, slots=True)
class SideSurroundings:
    """What was asked for around one side: packages in any form, a setup's file.

    Paths are relative to ``folder``.
    """

    packages: tuple[str, ...] = ()
    setup: str | None = None
    folder: Path = Path()

    def __bool__(self) -> bool:
        return bool(self.packages or self.setup)


AskedSides: TypeAlias = tuple[SideSurroundings, SideSurroundings]


@contextmanager
def surrounded(
    old: SubjectRef, news: Sequence[SubjectRef], asked: AskedSides
) -> Generator[tuple[SubjectRef, Sequence[SubjectRef]], None, None]:
    """Yield sides with what is around them, which is kept while the block runs.

    Raises RefError, EnvironmentChoiceError, PythonError or EnvironmentMakingError.
    """
    with ExitStack() as stack:
        one_code = any(asked) and all(is_one_code(old, new) for new in news)
        old = _around(old, asked[0], stack, one_code=one_code)
        news = [_around(new, asked[1], stack, one_code=one_code) for new in news]
        for new in news:
            _refuse_equal(old, new, asked)
        yield old, news


@contextmanager
def surrounded_alone(
    new: SubjectRef, asked: SideSurroundings
) -> Generator[SubjectRef, None, None]:
    """Yield a side whose other side does not run; raises as ``surrounded``."""
    with ExitStack() as stack:
        yield _around(new, asked, stack, one_code=False)


def is_one_code(old: SubjectRef, new: SubjectRef) -> bool:
    """Tell whether both sides are one function in one place."""
    places = [(each.file, each.module, each.name, each.revision) for each in (old, new)]
    return places[0] == places[1]


def versions(old: SubjectRef, new: SubjectRef) -> Mapping[str, tuple[str, str]]:
    """Return what the sides have in other versions, Python first; none if all is ours.

    Names of packages, each with the old and the new version.
    """
    if old.environment is None and new.environment is None:
        return {}
    sides = [_installed(each.environment) for each in (old, new)]
    both = {name: None for side in sides for name in side}
    found = {
        name: (sides[0].get(name, ABSENT), sides[1].get(name, ABSENT)) for name in both
    }
    return {name: each for name, each in found.items() if each[0] != each[1]}


def brought_by(ref: SubjectRef) -> Mapping[str, str]:
    """Return the versions of the packages that a side's setup imports, by name."""
    if ref.setup is None:
        return {}
    imports = python_source(ref.setup.read_bytes()).imported
    names = {each.replace(".", "/") for each in modules_of(imports)}
    files = {f"{name}{end}" for name in names for end in (".py", "/__init__.py")}
    sites = None if ref.environment is None else ref.environment.sites
    found = sorted(packages_with(sites), key=lambda each: each[0])
    return {name: at for name, at, has in found if not files.isdisjoint(has)}


def _installed(environment: SideEnvironment | None) -> Mapping[str, str]:
    if environment is None:
        return {"Python": platform.python_version(), **packages_in()}
    return {"Python": environment.version, **environment.packages}


def _around(
    ref: SubjectRef, asked: SideSurroundings, stack: ExitStack, *, one_code: bool
) -> SubjectRef:
    _refuse_unknown(ref, asked)
    with_them = f", with {', '.join(asked.packages)}" if asked.packages else ""
    if asked.packages:
        made = stack.enter_context(kept(packages_of(asked.packages, asked.folder)))
        ref = replace(ref, environment=made)
    if asked.setup is not None:
        file = asked.folder / asked.setup
        if not file.is_file():
            raise RefError(f"{ref}: there is no setup {asked.setup} in {asked.folder}")
        ref = replace(ref, setup=Path(os.path.realpath(file)))
        with_them += f", with {asked.setup}"
    if one_code and not with_them:
        with_them = f", {PLAIN}"
    return replace(ref, text=f"{ref.text}{with_them}", same_code=one_code)


def _refuse_unknown(ref: SubjectRef, asked: SideSurroundings) -> None:
    """Raise RefError for what a side of its language has no place for."""
    if asked.packages and ref.language != PYTHON:
        raise RefError(f"{ref}: packages are for sides in Python")
    if asked.setup is None or ref.language == PYTHON:
        return
    if ref.language != TYPESCRIPT:
        raise RefError(
            f"{ref}: setups are for sides in Python and TypeScript; one in"
            f" {ref.language} turns an observer on in code of its own, or is played as"
            " a program, whose command says so: --new-cmd 'NAME=VALUE COMMAND'"
        )
    if Path(asked.setup).suffix not in SUFFIXES:
        known = ", ".join(sorted(SUFFIXES))
        raise RefError(f"{ref}: Node runs no setup {asked.setup}: give one of {known}")


def _refuse_equal(old: SubjectRef, new: SubjectRef, asked: AskedSides) -> None:
    """Raise RefError if nothing at all is different between the sides."""
    if not is_one_code(old, new) or not any(asked) or old.setup != new.setup:
        return
    if versions(old, new):
        return
    side = old.environment or new.environment
    many = 0 if side is None else len(side.packages)
    raise RefError(
        f"{old} and {new} are one: the same code with Python"
        f" {side.version if side else platform.python_version()} and {many} equal"
        " packages; give other versions, or two files"
    )
