"""``refengine`` and ``migrate check`` alone: what could be checked here, and how."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from compat.migration.here import FoundFile, FoundHere

SHOWN: Final = 8
"""So many files of a kind are shown."""
CHECK: Final = "refengine migrate check"
SUBJECT: Final = """\
    from refengine.testing import World

    def subject(world: World):
        ...  # what makes your agent or your middleware, and returns it"""
GIVEN: Final = (
    ("langchain", "world.as_langchain()"),
    ("langgraph", "world.as_langchain()"),
    ("google-adk", "world.as_adk()"),
    ("pydantic-ai", "world.as_pydantic_ai()"),
)
"""What gives the model and the tools of a world, by package."""


def here_lines() -> Iterator[str]:
    """Yield what the working directory has, and what to type next."""
    from compat.migration.here import FoundHere

    return lines(FoundHere.read(Path.cwd()))


def lines(found: FoundHere) -> Iterator[str]:
    """Yield what there is, and what to type next."""
    if found.subjects:
        yield "Here are subjects, which can be checked as they are:"
        yield from _files(found.subjects)
        yield from _proposed(found)
    elif found.agents:
        yield "Here is code that makes agents or middleware, and no subject(world) yet:"
        yield from _files(found.agents)
        yield from ("", "Write a function that returns it, in a file of each side:", "")
        yield from (SUBJECT, "")
        yield from _given(found.agents)
        yield f"Then: {CHECK} OLD.py NEW.py"
    elif not found.doors:
        yield "Here is no subject, and no agent of a framework that is known."
        yield "  refengine init migration    writes one to start from, checked at once"
    if found.doors:
        yield from ([""] if found.subjects or found.agents else [])
        yield "Here is a door to an engine. Does the engine keep the contract?"
        yield from (f"  refengine conform {door}" for door in found.doors[:SHOWN])
    yield ""
    yield "Programs in any language: docs/programs.md. All options: --help."


def _files(files: Sequence[FoundFile]) -> Iterator[str]:
    shown = files[:SHOWN]
    wide = max(len(str(each.path)) for each in shown)
    for each in shown:
        yield f"  {each.path!s:{wide}}  {each.framework}".rstrip()
    if len(files) > SHOWN:
        yield f"  and {len(files) - SHOWN} more"


def _proposed(found: FoundHere) -> Iterator[str]:
    pair = found.pair
    if pair is not None:
        old, new = (each.path for each in pair)
        yield from ("", "Does the new one do what the old one did?")
        sides = shlex.join((str(old), str(new)))
        yield f"  {CHECK} {sides}"
        yield from _for_ci(found.declared, sides)
    newest = pair[1] if pair is not None else found.subjects[0]
    if newest.path.suffix == ".py" and newest.framework not in {"", "refengine"}:
        before = _installed(newest.framework)
        yield from ("", "Does it do the same with the next release of its packages?")
        wanted = f"--old-with '{newest.framework}=={before}' --new-with"
        yield f"  {CHECK} {newest.path} {wanted} '{newest.framework}'"


def _for_ci(declared: int, sides: str) -> Iterator[str]:
    if declared:
        yield "And all that migration.toml declares, as CI does it?"
        yield f"  {CHECK} --all ."
        return
    yield "As a file for CI, with what may differ:"
    yield f"  refengine init migration --sides {sides}"


def _given(agents: Sequence[FoundFile]) -> Iterator[str]:
    used = {each.framework for each in agents}
    for gives in dict.fromkeys(gives for package, gives in GIVEN if package in used):
        yield f"The model and the tools to make it with are those of {gives}."


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "VERSION"
