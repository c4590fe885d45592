"""The fixed worlds of a migration's corpus: every hook, and the classic pitfalls.

They are written by hand, in ``fixed_worlds.json``, with places for a subject's words:
``<name:0>``, ``<text:0>``, ``<match:0>`` (a text that its first pattern matches) and
``<json:0>`` (a text as it stands within JSON), ``<long:0>`` (4,000 characters). A
subject without such words gets neutral ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final

from refengine.testing.narrowing import is_list, is_mapping
from refengine.testing.notation import CALL_START, encoded
from refengine.testing.strategies.subject_kit import Kit, fit, json_text
from refengine.testing.strategies.subject_neighbours import FAILING, failures, flaky
from refengine.testing.strategies.subject_patterns import matching
from refengine.testing.strategies.subject_words import Words

LASTING: Final = frozenset(("interrupts", "cancelled"))
"""Families of worlds whose runs are kept, asked about or broken off; only these are."""
PLACE: Final = re.compile(r"<(name|text|match|json|long):(\d+)>")


def fixed_worlds(words: Words) -> Iterator[tuple[str, object]]:
    """Yield the fixed worlds in a subject's words: family, and JSON of a scenario.

    After those that are written down comes one for each point that can fail; what is
    done about an error is the part of a subject that everyday worlds do not reach.
    """
    some = _words_by_place(words)
    for entry in _written():
        yield entry["family"], _filled(entry["scenario"], some)
    for where in FAILING:
        yield "failures", failures(Kit(words, f"fixed/{where}"), where)
    yield from (("failures", each) for each in flaky(words))


@cache
def _written() -> list[dict[str, Any]]:
    text = files("compat.migration").joinpath("fixed_worlds.json").read_text("utf-8")
    written: list[dict[str, Any]] = json.loads(text)
    return written


def _words_by_place(words: Words) -> dict[str, list[str]]:
    texts = [_plain(text) for text in words.some_texts]
    found = [_plain(text) for each in words.patterns for text in matching(each)[:1]]
    names = dict.fromkeys([*words.some_names, "t0", "t1", "t2"])
    return {
        "name": list(names),
        "text": texts,
        "match": found or texts,
        "long": ["be brief, " * 400],
        "json": [fit(json_text(text)[1:-1]) for text in words.some_texts],
    }


def _filled(value: object, some: dict[str, list[str]]) -> object:
    """Return a JSON value with words in the places, those of its keys too."""
    if isinstance(value, str):
        return PLACE.sub(lambda at: some[at[1]][int(at[2]) % len(some[at[1]])], value)
    if is_list(value):
        return [_filled(each, some) for each in value]
    if is_mapping(value):
        return {
            str(_filled(key, some)): _filled(each, some) for key, each in value.items()
        }
    return value


def _plain(text: str) -> str:
    """Return a text that is no call, wherever it is put."""
    return encoded(text.replace("[", "{") if CALL_START.search(text) else text)
