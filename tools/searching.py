"""What the long searches share: how they are cut and played, and what is told.

A search is cut into parts, JSON each. A part is played here or on a worker (``--on``),
by the same function, and its answer is JSON; answers are joined in the order of the
parts, so what is told hangs neither on how many workers there are nor on who was first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sized
from importlib import import_module
from threading import Lock
from types import MappingProxyType
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings

from compat import spreading
from compat.spreading import RefusedUnitError, Spread, UnitData, other_threads_draw
from property_tests.drawing import without_constants

KIND: Final = "search"
SEARCHES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "adapted": "tools.adapted",
        "cancelling": "tools.cancelling.search",
        "dialect_compat": "tools.dialect_compat",
        "differential": "tools.differential.parts",
        "flow_ports": "tools.flow_ports",
        "fuzz": "tools.state.fuzz",
        "resuming": "tools.resuming.search",
    }
)
"""By name: the module of a search, whose ``searched`` plays a part of it."""

_ONE_AT_A_TIME: Final = Lock()
"""What draws, measures memory or silences logs does so for its whole process, and a
worker may have several threads."""


def played(unit: UnitData) -> UnitData:
    """Return what playing a part of a search gave; this is what a worker plays.

    Raises RefusedUnitError, for a search that is not in the table, too.
    """
    module = SEARCHES.get(unit["search"])
    if module is None:
        raise RefusedUnitError(
            f"there is no search {unit['search']!r}: give one of {', '.join(SEARCHES)}"
        )
    searched: Callable[[UnitData], UnitData] = import_module(module).searched
    with _ONE_AT_A_TIME, other_threads_draw():
        return searched(unit["part"])


def answers(
    search: str, parts: Iterable[UnitData], spread: Spread | None
) -> Generator[UnitData, None, None]:
    """Yield what each part gave, in the order of the parts, each as soon as it can be.

    Raises RefusedUnitError, and what a spread raises.
    """
    made = ({"search": search, "part": each} for each in parts)
    units = list(made) if isinstance(parts, Sized) else made  # so a bar has an end
    yield from spreading.answers(spread, KIND, played, units)


def tell(search: str, parts: Iterable[UnitData], spread: Spread | None) -> int:
    """Tell what each part says of itself; return the exit code, 1 if any found a world.

    For searches whose parts have nothing to do with each other: an answer is ``said``,
    a text, and whether that is something that was ``found``.
    """
    code = 0
    for answer in answers(search, parts, spread):
        say(answer["said"])
        code |= int(answer["found"])
    return code


def draw(test: Callable[[], object], examples: int, start: int) -> None:
    """Give a test so many examples from a seed; the first that fails is made small.

    They are the same in every process, whatever it has imported. Raises what the test
    raises then.
    """
    with without_constants():
        settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )(seed(start)(test))()


def at_least_one(text: str) -> int:
    """Return the number that an argument is; argparse refuses it with a ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse says which argument it is
    return number


def say(text: str) -> None:
    """Tell a line at once, also through a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
