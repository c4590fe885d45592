"""Documents that a tool gives back: JSON with the keys that a subject's source reads.

Who filters what a retriever found has a least score, a most of documents, an order, and
a number of decimals. So there are so many documents, none of them in order, and scores
with more decimals than are kept; one score is an amount that can be steered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from refengine.testing.subject_worlds.kit import Data, json_text
from refengine.testing.subject_worlds.slots import Slot, given_back
from refengine.testing.subject_worlds.words import Words

KEYS: Final = 12
NUMERIC: Final = re.compile(
    r"score|rank|relev|simil|dist|price|amount|cost|q(uan)?ty|quantity|count|size"
    r"|total|num|year|age|weight|prob|conf|rating|stars|stock|limit|balance|days",
    re.IGNORECASE,
)
"""Keys whose values are numbers, by what they are called."""
AROUND: Final = re.compile(
    r"results?|documents?|docs|items|hits|matches|data|records|rows|entries"
)
"""Keys under which a list of documents stands."""
SCORES: Final = (0.61234, 0.98766, 0.75, 0.61234, 0.98764, 0.5, 1.0, 0.875)
"""The first ones: neither in order nor all different, some with many decimals."""


def document_slots(words: Words) -> tuple[Slot, ...]:
    """Return places for documents: how many there are, and the score of the first."""
    keys = [each for each in words.names if each.isidentifier()][:KEYS]
    if not keys:
        return ()
    around = [each for each in keys if AROUND.fullmatch(each)]
    shapes: list[str | None] = [None, *around[:1]]
    return tuple(slot for shape in shapes for slot in _slots(keys, shape))


def _slots(keys: Sequence[str], shape: str | None) -> Iterator[Slot]:
    named = f" in {shape}" if shape else ""

    def so_many(world: Data, amount: float) -> Data | None:
        return given_back(world, _text(keys, int(amount), None, shape))

    def scored(world: Data, amount: float) -> Data | None:
        return given_back(world, _text(keys, 3, amount, shape))

    yield Slot(f"documents{named}", so_many, (2, 6), 60)
    yield Slot(f"score{named}", scored, (0.3, 0.9), 10**6, whole=False)
    yield Slot(f"number{named}", scored, (2, 7), 10**9)


def _text(
    keys: Sequence[str], count: int, first: float | None, shape: str | None
) -> str:
    made = [_document(keys, nth, first if nth == 0 else None) for nth in range(count)]
    return json_text(made if shape is None else {shape: made})


def _document(keys: Sequence[str], nth: int, given: float | None) -> Data:
    score = SCORES[nth % len(SCORES)] if given is None else given
    numeric = [key for key in keys if NUMERIC.search(key)]
    return {key: score if key in numeric else f"{key} {nth}" for key in keys}
