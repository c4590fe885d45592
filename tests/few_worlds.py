"""Judgements in few worlds, where a test is about the judgement, not what is judged.

A clause looks at most of the fixed cases and recorded sessions, whichever is asked for,
and that takes most of the time of a judgement. That our engines keep the contract in
all of them is what ``.ci/run`` judges by itself.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from compat.migration import check
from compat.migration.corpus import Corpus, make_corpus
from compat.models.importing import ImportedFile
from property_tests.corpus import CorpusWorld
from property_tests.judging import engines
from property_tests.judging.inputs import first_worlds

LAW = "CONC-010"
"""A clause that is decided without the reference, in a tenth of the time."""
SHARE, PART = 25, 6
"""One in so many worlds stays: of fixed cases, of recorded sessions and migrations."""


@contextmanager
def judging_in(*families: str) -> Iterator[None]:
    """Judge engines in the fixed cases of these families, and a share of the others."""

    def few(seed: int, given: Sequence[ImportedFile] = ()) -> tuple[CorpusWorld, ...]:
        every = first_worlds(seed, given)
        own = [each for each in every if each.clause.partition("-")[0] in families]
        # Each kind by itself: another fixed case leaves the same recorded sessions.
        fixed = [each for each in every if each.fixed][::SHARE]
        recorded = [each for each in every if not each.fixed][::PART]
        return (*own, *(each for each in (*fixed, *recorded) if each not in own))

    with patch.object(engines, "first_worlds", few):
        yield


@contextmanager
def checking_in_few() -> Iterator[None]:
    """Check migrations in a share of the worlds; packs are judged in all."""

    def few(*given: Any, **more: Any) -> Corpus:
        every = make_corpus(*given, **more)
        return replace(every, worlds=every.worlds[::PART])

    with patch.object(check, "make_corpus", few):
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
