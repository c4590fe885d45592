"""Which worlds a shape of agents may have, by what its source imports.

A shape that only sessions of its own kind make sense for has a ``WorldFit``; subjects
of other shapes say nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.kit import Data
from refengine.testing.subject_worlds.streamed_worlds import (
    fits_loop,
    fits_sessions,
    loop_fitted,
    loop_worlds,
    session_fitted,
    session_worlds,
)
from refengine.testing.subject_worlds.words import Words

ByFamily: TypeAlias = "Iterable[tuple[str, object]]"

LOOP: Final = re.compile(r"\bdialects\.stream_loop\b")
SESSIONS: Final = re.compile(r"\bdialects\.callbacks\b")
FOLLOWS: Final = re.compile(r"requires_follow_up|LoopProcessor|process_rounds")
"""How a source speaks of rounds that follow one another."""
LIMITED: Final = re.compile(r"max_iterations=|max_iterations:")
"""How a source takes from its caller how many rounds there may be."""

OWNERS: Final = (("deliveries", "[*].to"),)
"""Owners that only NEW has: nobody can have relied on their being told."""


@dataclass(frozen=True, slots=True)
class WorldFit:
    """How worlds of one shape are made, and made to fit after they were changed."""

    worlds: Callable[[Words, ByFamily, int], Iterator[tuple[str, Data]]]
    """makes worlds of others and of the words; the number is the seed"""
    fitted: Callable[[object], Data]
    fits: Callable[[Scenario], bool]
    additions: tuple[tuple[str, str], ...] = ()
    """channels and paths at which what only NEW has is not a difference"""


def fit_of(old: Iterable[str], every: Iterable[str]) -> WorldFit | None:
    """Return the fit of a migration by the sources of OLD and of both sides.

    None if neither side imports one of our dialects that have one.
    """
    texts = tuple(every)
    if any(map(SESSIONS.search, texts)):
        return WorldFit(session_worlds, session_fitted, fits_sessions, OWNERS)
    if not any(map(LOOP.search, texts)):
        return None
    before = tuple(old)
    follows = any(map(FOLLOWS.search, before))
    limited = any(map(LIMITED.search, before))
    return WorldFit(
        partial(loop_worlds, follows=follows, limited=limited),
        partial(loop_fitted, limited=limited),
        partial(fits_loop, limited=limited),
    )
