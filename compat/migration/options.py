"""Options of a migration check: what holds without them, and choices among names.

The command line shows these in its help, before anything that judges is loaded. What a
subject's process may see and use of the machine is among them: a child is given a fixed
list of the environment, what Python and the platform need. A variable that only one
machine has would make a verdict that only that machine gives.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

EXAMPLES: Final = 100
"""So many generated worlds a corpus has, beside the fixed ones."""

SEARCH_PLAYS: Final = 1_000
"""So often a search plays, both sides together, where a migration holds."""

TIMEOUT: Final = 10.0
"""Seconds that one world may take on one side."""

SHARPNESS_PLAYS: Final = 2_000
"""So often small changes of NEW are played in a world, all together."""


ORDINARY: Final = "ordinary"
EVERYWHERE: Final = "all"
DOMAINS: Final = (ORDINARY, EVERYWHERE)
"""Which worlds decide: those that an application meets, or the unusual ones, too."""


def plays_of_changes(given: int | None, least: float, usual: int) -> int:
    """Return how often small changes are played; ``least`` percent are to be noticed.

    Where they are ``usual``ly not played, they are if so many have to be noticed.
    Raises ValueError where that could not be known.
    """
    if given is None:
        return SHARPNESS_PLAYS if least else usual
    if least and not given:
        raise ValueError(
            f"{least:g} % of the small changes are to be noticed, and none is played:"
            " allow more plays than 0"
        )
    return given


class UnknownWordError(ValueError):
    """A name that does not exist."""


def known(value: str, names: Iterable[str], what: str) -> str:
    """Return the value if it is one of the names; raises UnknownWordError.

    For options of the command line and for entries of the file.
    """
    options = list(names)
    if value in options:
        return value
    close = difflib.get_close_matches(value, options, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(options)}"
    raise UnknownWordError(f"{value!r} is not a known {what}; {hint}")


# The machine

GIVEN: Final = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TZDIR",
    "PYTHON*",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_*",
    "SYSTEMROOT",
)
"""Names of what every child is given, as patterns."""
ALL: Final = "*"
"""The name by which all of the environment is inherited."""
OWN: Final = "own"
SIDE_DOORS: Final = (OWN, "all")
"""Whose records are effects: the subject's own code's, or those of frameworks, too."""


class NotAnAddressError(ValueError):
    """A text that says no host and port."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is not an address: write HOST:PORT, such as 127.0.0.1:5432"
        )


@dataclass(frozen=True, slots=True)
class Reach:
    """What is let through: variables by name, hosts with ports; whose side doors.

    Where it is ``closed``, no file outside is written, and no program started. Programs
    are given addresses of ``services`` that are played, each in the variable so named.
    What is ``apart`` leaves the machine's network, which the kernel has to let it.
    """

    env: tuple[str, ...] = ()
    net: tuple[tuple[str, int], ...] = ()
    side_doors: str = OWN
    closed: bool = False
    apart: bool = False
    services: tuple[str, ...] = ()

    @property
    def request(self) -> Mapping[str, object]:
        """What the child hears of it."""
        return {
            "net": [list(each) for each in self.net],
            "side_doors": self.side_doors,
            "closed": self.closed,
            "apart": self.apart,
        }

    @property
    def header(self) -> Mapping[str, object]:
        """What a report's header says of it: nothing of what is always so."""
        net = [f"{host}:{port}" for host, port in self.net]
        found = {"environment": list(self.env), "net": net}
        if self.services:
            found["services"] = list(self.services)
        if self.side_doors != OWN:
            found["side_doors"] = [self.side_doors]
        return {name: each for name, each in found.items() if each}


NO_REACH: Final = Reach()


def variable(text: str) -> str:
    """Return the name of a variable, or that of all; raises ValueError."""
    if not text or "=" in text:
        name = text.partition("=")[0] or "NAME"
        raise ValueError(
            f"{text!r} is no name of a variable: its value is that of the environment,"
            f" so write --env {name}"
        )
    return text


def address(text: str) -> tuple[str, int]:
    """Return host and port; raises NotAnAddressError."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        raise NotAnAddressError(text)
    return host.removeprefix("[").removesuffix("]"), int(port)
