"""Options of ``refengine migrate check`` for what is around each side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from compat.cli.command import (
    SIDES_PART,
    option,
)

if TYPE_CHECKING:
    from compat.migration.surroundings import AskedSides

F = TypeVar("F", bound=Callable[..., int])


@dataclass(frozen=True, slots=True)
class SideOptions:
    """What the line says of both sides: packages in any form, and a setup's file."""

    old_with: tuple[str, ...] = ()
    new_with: tuple[str, ...] = ()
    old_setup: str | None = None
    new_setup: str | None = None

    def __bool__(self) -> bool:
        return any((self.old_with, self.new_with, self.old_setup, self.new_setup))

    def asked(self, settings: Path | None) -> AskedSides:
        """Return it with what a file says where the line does not; raises as it."""
        from compat.migration.folder import around_of
        from compat.migration.surroundings import SideSurroundings

        here = Path.cwd()
        line = (
            SideSurroundings(self.old_with, self.old_setup, here),
            SideSurroundings(self.new_with, self.new_setup, here),
        )
        of_file = around_of(settings)
        return line[0] or of_file[0], line[1] or of_file[1]


def of_sides(check: F) -> F:
    """Add the options: their parameter ``around``."""

    @option(
        "--old-with",
        about="what OLD runs with: a requirement ('langchain==1.4.*'), a file of them,"
        " a virtual environment's folder, or a Python",
        metavar="PACKAGES",
        multiple=True,
        part=SIDES_PART,
    )
    @option(
        "--new-with",
        about="the same of NEW",
        metavar="PACKAGES",
        multiple=True,
        part=SIDES_PART,
    )
    @option(
        "--old-setup",
        about="a file that OLD's process runs before it imports OLD",
        metavar="FILE",
        part=SIDES_PART,
    )
    @option("--new-setup", about="the same of NEW", metavar="FILE", part=SIDES_PART)
    @wraps(check)
    def with_sides(
        *,
        old_with: tuple[str, ...],
        new_with: tuple[str, ...],
        old_setup: str | None,
        new_setup: str | None,
        **more: Any,  # noqa: ANN401  # the other options of the command
    ) -> int:
        given = SideOptions(old_with, new_with, old_setup, new_setup)
        return check(around=given, **more)

    return cast("F", with_sides)
