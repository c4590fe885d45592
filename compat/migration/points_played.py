"""The worlds of points, in a subject's own words: its tools, its values, its answers.

    pair of engines, both sides' names, words → worlds by point, and why of the others

They are ordinary worlds and stand first in a corpus. A gap that a subject has nothing
for, such as a tool of its own, makes a world none of its worlds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.migration.points import (
    Data,
    EnginePoint,
    PointPair,
    SaidNames,
    pair_of,
    said_names,
)
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import parse_message
from refengine.testing.own_tools import own
from refengine.testing.subject_worlds.graph_worlds import values_given
from refengine.testing.subject_worlds.kit import GAP, fit, gaps_filled, json_text
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.words import Dice, Words, matching

NONE: Final = "<none>"
NO_TOOL: Final = "no_such_tool"
DIRECT: Final = "direct"
ORDINARY: Final = "ordinary"
WAYS: Final = ("async", "sync")
TURNS: Final = 3
"""So often a world is played with other words of the subject's."""
LONG: Final = "be brief, " * 400


@dataclass(frozen=True, slots=True)
class PointWorlds:
    """The points of two sides: the worlds of each, or why it does not concern them."""

    pair: PointPair
    worlds: tuple[tuple[EnginePoint, Data], ...]
    absent: Mapping[str, str]


def point_worlds(
    sources: Mapping[str, str], words: Words, more: GraphWords
) -> PointWorlds | None:
    """Return what two sides are to be played in first, None if nothing is known.

    The names of OLD's sources begin with ``0/``.
    """
    old = said_names(t for name, t in sources.items() if name.startswith("0/"))
    new = said_names(t for name, t in sources.items() if not name.startswith("0/"))
    pair = pair_of(old, new)
    if pair is None:
        return None
    said = {"old": old, "new": new}
    found: list[tuple[EnginePoint, Data]] = []
    absent: dict[str, str] = {}
    for point in pair.points:
        why = point.absent(said)
        made = [] if why else [*_worlds(point, old, words, more)]
        if not made:
            absent[point.id] = why or "OLD has nothing that its worlds are about"
        found += [(point, each) for each in made]
    return PointWorlds(pair, tuple(found), absent)


def _worlds(
    point: EnginePoint, old: SaidNames, words: Words, more: GraphWords
) -> Iterator[Data]:
    """Yield the worlds of a point, no two the same, each in one of both ways."""
    seen: set[str] = set()
    for written in point.worlds:
        for turn in range(TURNS):
            gaps = _gaps(old, words, turn)
            if not _has_all(written, gaps):
                continue
            made = _transposed(written, gaps)
            key = json.dumps(made, sort_keys=True)
            if key not in seen:
                seen.add(key)
                at = len(seen)
                yield _given(made, more, Dice(f"{point.id}/{at}"), at)


def _gaps(old: SaidNames, words: Words, turn: int) -> dict[str, list[str]]:
    """Return what fills the gaps, from the ``turn``-th word of each kind on."""
    mine = [*old.ordinary, *old.direct]
    others = [name for name in words.some_names if name not in mine]
    names = others if "tools" in old.names or not mine else mine
    texts = [*words.some_texts]
    found = [text for each in words.patterns for text in matching(each)[:1]]
    some = {
        "name": names,
        "text": texts,
        "match": found or texts,
        "own": [own(at) for at in range(len(mine))],
        "direct": [*map(own, old.direct)] or [DIRECT],
        "ordinary": [*map(own, old.ordinary)] or [ORDINARY],
        "schema": [*map(own, old.schemas)],
        "long": [LONG],
    }
    return {
        kind: [_within(each) for each in (*values[turn:], *values[:turn])]
        for kind, values in some.items()
    }


def _within(text: str) -> str:
    """Return a text as it may stand in a message, and in the arguments of a call."""
    return fit(json_text(text)[1:-1]).replace("[", "{")


def _has_all(written: Data, gaps: Mapping[str, Sequence[str]]) -> bool:
    return all(gaps[kind] for kind, _ in GAP.findall(json.dumps(written)))


def _transposed(written: Data, gaps: Mapping[str, Sequence[str]]) -> Data:
    """Return a world in the subject's words, with the tools that it calls."""
    made: Data = gaps_filled(written, gaps)
    made["model_script"] = [*_unrolled(made["model_script"])]
    agent: Data = {**made.get("agent", {})}
    tools = [*agent.get("tools", ())]
    known = {each["name"] for each in tools}
    script = [each for each in made["model_script"] if isinstance(each, str)]
    called = {call.name for each in script for call in parse_message(each).tool_calls}
    more = (name for name in sorted(called - known) if not name.startswith("<"))
    tools += [{"name": name, "result": "<args>"} for name in more]
    direct = {DIRECT: True} if DIRECT in called else {}
    made["agent"] = {
        **agent,
        **({"tools": tools} if tools else {}),
        **({"return_directly": direct} if direct else {}),
    }
    made["model_script"] = [
        each.replace(f":{NONE}(", f":{NO_TOOL}(") if isinstance(each, str) else each
        for each in made["model_script"]
    ]
    return made


def _unrolled(script: Iterable[object]) -> Iterator[object]:
    """Yield a script, and what comes again in it so often as it says, numbered."""
    for each in script:
        if is_mapping(each) and "again" in each:
            for at in range(each["times"]):
                yield str(each["again"]).replace("<n>", str(at))
        else:
            yield each


def _given(made: Data, more: GraphWords, dice: Dice, at: int) -> Data:
    """Return a world with the values and answers that the subject looks for."""
    runs: list[Data] = []
    for run in made["runs"]:
        values = values_given(more, dice, all_of_them=at % 2 == 0)
        runs.append({**run, **values, **_replies(run, more)})
    way = WAYS[at % 2]
    return {**made, "runs": runs, **({"way": way} if way != WAYS[0] else {})}


def _replies(run: Mapping[str, Any], more: GraphWords) -> Data:
    """Return how a person answers, in the words that OLD's source understands."""
    wanted = [each["kind"] for each in run.get("replies", ({"kind": "yes"},))]
    found = [
        {"kind": kind, "value": value} for kind, value in more.replies if kind in wanted
    ]
    return {"replies": found[:1]} if found else {}
