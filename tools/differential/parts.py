"""Worlds on two engines as parts of a search: what goes to a worker, and comes back.

A worker opens both engines itself, once, and keeps them for the parts that follow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from compat.engines.importing import installed_engines
from compat.engines.load_errors import LoadError
from compat.spreading import RefusedUnitError, Spread, UnitData
from refengine.errors import UnknownProfileError
from refengine.testing.trace import Divergence
from tools.differential.explaining import Explained
from tools.differential.flow import flow_pair
from tools.differential.hooks import hooks_pair
from tools.differential.searching import Look, Pair, Skipped, look
from tools.searching import answers

KINDS: Final[Mapping[str, Callable[[str, str | None], Pair[Any]]]] = MappingProxyType(
    {"flow": flow_pair, "eino": hooks_pair}
)
"""By kind of agents: what makes the reference and an engine of that name a pair."""
AT_ONCE: Final = 20
"""So many worlds make a part, which takes seconds."""


@dataclass(frozen=True, slots=True)
class SpreadLooks:
    """Has worlds played on workers: on which engines, and what is known to differ."""

    spread: Spread
    kind: str
    theirs: str
    profile: str | None
    explained: Sequence[Explained]

    def __call__(self, worlds: Sequence[Any]) -> Iterator[Look]:
        """Yield what each world showed; raises RefusedUnitError."""
        about = {
            "kind": self.kind,
            "theirs": self.theirs,
            "profile": self.profile,
            "explained": [asdict(each) for each in self.explained],
        }
        texts = [each.model_dump_json(exclude_defaults=True) for each in worlds]
        starts = range(0, len(texts), AT_ONCE)
        parts = [{**about, "worlds": texts[at : at + AT_ONCE]} for at in starts]
        for answer in answers("differential", parts, self.spread):
            yield from map(_read, answer["looks"])


def searched(part: UnitData) -> UnitData:
    """Return what each world of a part showed; this is what a worker plays.

    Raises RefusedUnitError for an engine that is not installed or does not open there.
    """
    explained = [Explained(**each) for each in part["explained"]]
    with engines_are_quiet():
        pair = _opened(part["kind"], part["theirs"], part["profile"])
        found = [look(pair, explained, pair.read(each)) for each in part["worlds"]]
    return {"looks": [_written(each) for each in found]}


@contextmanager
def engines_are_quiet() -> Generator[None, None, None]:
    """Let engines log nothing: they log each error that a world raises."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@lru_cache(maxsize=1)
def _opened(kind: str, theirs: str, profile: str | None) -> Pair[Any]:
    if theirs not in installed_engines():
        raise RefusedUnitError(
            f"{theirs} is not an installed engine, and workers open no other: a"
            " name in data could be that of any module: leave --on out"
        )
    try:
        return KINDS[kind](theirs, profile)
    except (LoadError, UnknownProfileError) as error:
        raise RefusedUnitError(f"on a worker: {error}") from error


def _written(seen: Look) -> UnitData:
    skipped = None if seen.skipped is None else seen.skipped.name
    return {**asdict(seen), "skipped": skipped}


def _read(data: UnitData) -> Look:
    skipped = None if data["skipped"] is None else Skipped[data["skipped"]]
    found = None if data["found"] is None else Divergence(**data["found"])
    return Look(skipped, data["used"], found, data["kind"])
