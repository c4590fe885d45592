"""What may be wrong with recorded traffic, one class for what a caller tells apart.

    TrafficError (ValueError)
    ├── RequestError        a request of which no input can be made
    ├── DerivedError        a file that is not a derived script
    ├── GivenFileError      a user's file that holds no worlds, or wrong ones
    ├── UnusedFileError     a user's file of which nothing is in any world
    └── MissingSessionsError  what ships of recorded sessions is not all there

A response is never an error here: what no client could read is a failure that the
world plays. Messages name file and interaction, not what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SHOWN: Final = 5
"""So many problems of one file are told; they often have one cause."""


class TrafficError(ValueError):
    """What every error of this package is."""


class ShapeError(ValueError):
    """A part of a body that is of another shape than the API has; named by its path."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} {problem}")


class RequestError(TrafficError):
    """A request of chat completions of which no input can be made."""

    def __init__(self, file: str, interaction: int, problem: str) -> None:
        self.file = file
        self.interaction = interaction
        super().__init__(
            f"{file}, interaction {interaction}: {problem};"
            " record the request with its whole JSON body"
        )


class DerivedError(TrafficError):
    """A file that is not a derived script."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        super().__init__(
            f"{file}: {problem}; write it anew with python -m compat.models.derive"
        )


@dataclass(frozen=True, slots=True)
class BadPlace:
    """Where in a user's file something is wrong, what, and what would be right."""

    where: str
    problem: str

    def __str__(self) -> str:
        """Return it as a line of a message."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


class GivenFileError(TrafficError):
    """A file of worlds or tools that cannot be used; every bad line is named."""

    def __init__(self, file: str, problems: Sequence[BadPlace]) -> None:
        self.file = file
        self.problems = tuple(problems)
        shown = "".join(f"\n  {each}" for each in self.problems[:SHOWN])
        more = len(self.problems) - SHOWN
        super().__init__(
            f"{file}:{shown}" + (f"\n  and {more} more" if more > 0 else "")
        )


class UnusedFileError(TrafficError):
    """A file that was given, and of which nothing is in any world."""

    def __init__(self, file: str, why: str) -> None:
        self.file = file
        super().__init__(f"{file}: nothing of it is in any world: {why}")


class MissingSessionsError(TrafficError):
    """Recorded sessions that ship are not there: an installation with a part left out.

    Fewer worlds would be judged than elsewhere, and nobody would be told.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
            f"the recorded sessions of refengine are not all there: {file} is missing;"
            " install it anew"
        )
