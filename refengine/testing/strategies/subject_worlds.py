"""Worlds for a subject, by family, in its own words.

Nothing is drawn by Hypothesis: dice with one seed a world make 100 of them in a tenth
of a second, the same ones with every version of everything. Shrinking is not the
strategy's business here, as two traces are compared and not one property checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Final

from refengine.testing.notation import encoded
from refengine.testing.strategies.subject_families import FAMILIES
from refengine.testing.strategies.subject_kit import (
    KINDS,
    LONGEST,
    Data,
    Kit,
    lengths,
    long_text,
)
from refengine.testing.strategies.subject_neighbours import (
    FAILING,
    failures,
    neighbours,
)
from refengine.testing.strategies.subject_patterns import forms, matching
from refengine.testing.strategies.subject_turns import DONE, GO, Turn, Turns, packed
from refengine.testing.strategies.subject_words import Words

WORDS: Final = ("names", "numbers", "texts", "patterns")
"""The families that use up a subject's words."""
ROTATION: Final = (
    *WORDS,
    *FAMILIES,
    "failures",
    "neighbours",
    "numbers",
    "patterns",
)
"""The order of families: of 100 worlds each has five or more."""
BY_THEMSELVES: Final = frozenset(("numbers", "instruction", "unicode", "happy"))
"""Families with instructions of their own; a length is met without one."""
SPARE: Final = 3
"""For so many runs there is one more, as errors leave answers over."""


def worlds(words: Words, examples: int, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield so many worlds with the name of their family, as the JSON of scenarios."""
    families = [ROTATION[at % len(ROTATION)] for at in range(examples)]
    using = _using_up(words, families, seed)
    standing = cycle(standing_instructions(words))
    failing = iter(range(examples))
    for at, family in enumerate(families):
        kit = Kit(words, f"{seed}/{at}/{family}")
        if family in using:
            made = of_turns(kit, using[family].pop(), at if family == "names" else None)
            # Elsewhere a call of a tool that the subject removed would end the run, and
            # hide what the other calls of the same answer do.
            if family != "names" or at % 2:
                made["agent"]["unknown_tools_handler"] = "there is no <name>"
        elif family == "failures":
            made = failures(kit, FAILING[(next(failing) + seed) % len(FAILING)])
        elif family == "neighbours":
            made = neighbours(kit)
        else:
            made = FAMILIES[family](kit)
        if family not in BY_THEMSELVES:
            made["agent"]["instruction"] = next(standing)
        yield family, made


def _using_up(
    words: Words, families: Sequence[str], seed: int
) -> Mapping[str, list[list[Turn]]]:
    """Deal the turns that use up the words to the worlds of their families."""
    turns = Turns(Kit(words, f"{seed}/turns"))
    made = {
        "names": [
            *(turn for _ in KINDS for turn in turns.of_names()),
            *turns.of_other_names(),
        ],
        "numbers": list(turns.of_numbers()),
        "texts": list(turns.of_texts()),
        "patterns": list(turns.of_patterns()),
    }
    return {
        family: packed(made[family], families.count(family))
        for family in WORDS
        if family in families
    }


def of_turns(kit: Kit, turns: Sequence[Turn], at: int | None) -> Data:
    """Return a world of many turns; the subject's tools give their arguments back.

    They are of both kinds, so that the mode of a run says which one is wrapped, or take
    turns, a step further with each world.
    """
    own = [
        {
            "name": name,
            "kind": "both" if at is None else KINDS[(at + number) % 3],
            "result": "<args>",
        }
        for number, name in enumerate(kit.words.some_names)
    ]
    mixed = kit.dice.shuffled(turns)
    tools = [*own, *(tool for turn in mixed for tool in turn.tools)]
    script = [entry for turn in mixed for entry in turn.script]
    runs = [{"input": list(t.input), "streaming": t.streaming} for t in mixed]
    runs += [{"input": list(GO)}] * (len(runs) // SPARE + 1)
    agent: Data = {"tools": tools, "max_iterations": 30}
    return {"agent": agent, "model_script": script or [DONE], "runs": runs}


def standing_instructions(words: Words) -> list[str]:
    """Return instructions with every pattern, then every text, then every length."""
    first = [text for each in words.patterns for text in matching(each)[:1]]
    found = [*first, *(form for text in first for form in forms(text)[1:2])]
    texts = [t for text in words.some_texts for t in (text, f"so {text} more")]
    sizes = [long_text(length) for length in lengths(words, LONGEST)]
    return list(map(encoded, [*found, *texts, *sizes]))
