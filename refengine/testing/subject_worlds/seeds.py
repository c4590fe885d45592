"""The worlds that a search begins with: short ones, with a known text in each place.

Two turns on a thread, one call in the first; so a comparison that is reached shows
which place its value came from. Words of a subject's long texts make questions: one to
a few words of one text or of several, as who looks for documents would be asked.

Documents that a tool gives back are JSON with the keys that a subject's source reads.
Who filters what a retriever found has a least score, a most of documents, an order, and
a number of decimals. So there are so many documents, none of them in order, and scores
with more decimals than are kept; one score is an amount that can be steered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.own_tools import own
from refengine.testing.subject_worlds.kit import Data, answer, json_text
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.slots import CARRIERS, Slot, given_back
from refengine.testing.subject_worlds.words import Dice, Words

NAMES: Final = 5
OWN: Final = 3
KEYS: Final = 5
TEXT: Final = {name: text for name, (text, _) in CARRIERS.items()}
LONG: Final = 3
"""So many words make a text a document."""
DOCUMENTS: Final = 12
WORD: Final = re.compile(r"\w+")


def seeds(words: Words, more: GraphWords | None) -> Iterator[Data]:
    """Yield worlds with a call of each of the first names, and of own tools."""
    names = words.some_names[:NAMES]
    keys = [name for name in names if name.isidentifier()][:KEYS]
    given: Data = {"q": TEXT["argument"], "n": 3}
    given |= {key: (TEXT["argument"], 3)[at % 2] for at, key in enumerate(keys)}
    tools = [{"name": n, "kind": "both", "result": TEXT["result"]} for n in names[:3]]
    for name in names:
        call = ToolCall("c1", name, json_text(given))
        there = {each["name"] for each in tools}
        more_tools = [] if name in there else [{**tools[0], "name": name}]
        yield _world([call], [*tools, *more_tools], more)
    if more is not None:
        fit = {"integer": 3, "string": TEXT["argument"], "optional": True}
        for which in range(OWN):
            # No tool of the world's, which might have the name of an own one.
            yield _world([ToolCall("c1", own(which), json_text(fit))], [], more)
    yield _world([], [], more)


def _world(
    calls: Sequence[ToolCall], tools: Sequence[Data], more: GraphWords | None
) -> Data:
    asked = [answer("", calls)] if calls else []
    script = [*asked, f"assistant:{TEXT['answer']}", f"assistant:{TEXT['answer']}"]
    options = {
        each.name: TEXT["option"] if isinstance(each.values[0], str) else each.values[0]
        for each in (more.options if more is not None else ())
    }
    run: Data = {"input": [f"user:{TEXT['user']}"]}
    if options:
        run["options"] = options
    agent: Data = {"instruction": TEXT["instruction"]}
    if tools:
        agent["tools"] = [dict(each) for each in tools]
    again = {**run, "input": ["user:again"], "continues": True}
    return {"agent": agent, "model_script": script, "runs": [run, again]}


def documents(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text that is long enough to be looked through."""
    found = [list(dict.fromkeys(WORD.findall(text))) for text in texts]
    return [each for each in found if len(each) >= LONG][:DOCUMENTS]


def questions(texts: Sequence[str]) -> Iterator[str]:
    """Yield questions of one word, of two, and so on, of one document or of several."""
    some = documents(texts)
    for count in (1, 2, 3):
        for each in some:
            yield " ".join(each[:count])
            yield " ".join(each[-count:])
    for count in (1, 2):
        yield from (
            " ".join(word for each in some[:most] for word in each[:count])
            for most in range(2, len(some) + 1)
        )
    yield from (" ".join(filter(None, row)) for row in zip_longest(*some[:4]))


def asked(dice: Dice, some: Sequence[Sequence[str]]) -> str:
    """Return a question put together from words of a few documents, by dice."""
    picked = dice.shuffled(some)[: 1 + dice.below(4)]
    words = [
        word for each in picked for word in dice.shuffled(each)[: 1 + dice.below(3)]
    ]
    strange = ["zzz"] * dice.below(3)
    return " ".join(dice.shuffled([*words, *strange]))


# Documents

DOCUMENT_KEYS: Final = 12
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
    keys = [each for each in words.names if each.isidentifier()][:DOCUMENT_KEYS]
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
