"""Engines judged in few worlds, where a test is about the judgement, not the engine.

A clause looks at most of the fixed cases and recorded sessions, whichever is asked for,
and that takes most of the time of a judgement. That our engines keep the contract in
all of them is what ``.ci/run`` judges by itself.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from unittest.mock import patch

from compat.migration import corpus
from compat.models.importing import ImportedFile
from property_tests.corpus import CorpusWorld
from property_tests.judging import engines
from property_tests.judging.inputs import first_worlds
from refengine.testing.subject_worlds.words import Words

LAW = "CONC-010"
"""A clause that is decided without the reference, in a tenth of the time."""
SHARE = 25
"""One in so many worlds stays, of whatever kind it is."""


@contextmanager
def judging_in(*families: str) -> Iterator[None]:
    """Judge engines in the fixed cases of these families, and a share of the others."""

    def few(seed: int, given: Sequence[ImportedFile] = ()) -> tuple[CorpusWorld, ...]:
        every = first_worlds(seed, given)
        own = [each for each in every if each.clause.partition("-")[0] in families]
        return (*own, *(each for each in every[::SHARE] if each not in own))

    with patch.object(engines, "first_worlds", few):
        yield


@contextmanager
def checking_in_few() -> Iterator[None]:
    """Check migrations in a share of the fixed cases; packs are judged in all."""
    every = corpus.fixed_worlds

    def few(words: Words) -> Iterator[tuple[str, object]]:
        yield from islice(every(words), 0, None, 6)

    with patch.object(corpus, "fixed_worlds", few):
        yield


def judging_begun(*families: str) -> str:
    """Return lines of Python after which a process of its own judges so."""
    return f"""
import sys
sys.path.append({str(Path(__file__).parent.parent)!r})
from tests.few_worlds import judging_in
begun = judging_in(*{families!r})
begun.__enter__()
"""
