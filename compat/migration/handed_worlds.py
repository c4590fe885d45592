"""Hand-over worlds: sessions that OLD leaves and NEW goes on with, and what they show.

They are chosen among the worlds that OLD was played in, by what was seen there: a run
that asked, one that failed in a tool, a second turn. A few of each are enough, as long
as they differ in what was called and how.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast, get_args

from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.handed_codes import CHANNEL
from compat.migration.pairs import BothPlayed, SideRunner, TracedWorld
from compat.migration.shrink import size
from compat.verdicts.migration import HandOverVerdict
from refengine.testing.json_values import is_mapping
from refengine.testing.ops import ToolSpec
from refengine.testing.person import APPROVAL
from refengine.testing.scenario import HandOverPoint, RunSpec, Scenario
from refengine.testing.subjects import OWN_STORE, asks_itself

FAMILY: Final = "hand-over"
MOST: Final[Mapping[HandOverPoint, int]] = MappingProxyType(
    {"interrupted": 4, "between turns": 3, "failed": 3}
)
"""So many worlds are handed over at each point, and more where others have fewer."""
IN_ALL: Final = sum(MOST.values())
POINTS: Final[tuple[HandOverPoint, ...]] = get_args(HandOverPoint)

ASKS: Final = re.compile(r'"kind":\s*"interrupt"|"name":\s*"approval"')
"""What stands in a trace in which somebody was asked; most others need no reading."""
AND_THEN: Final = RunSpec(input=("user:and",), continues=True)
"""What a user says to a session in which a run failed."""
ANSWER: Final = "assistant:done"

Item: TypeAlias = "Mapping[str, Any]"
Shape: TypeAlias = "tuple[object, ...]"
Asks: TypeAlias = Callable[[Item], bool]


def with_hand_over(
    corpus: Corpus, played: Sequence[TracedWorld], keeps: str, *, of_graphs: bool
) -> Corpus:
    """Return the corpus with worlds in which OLD leaves a run; once, and at its end.

    Our own engine keeps nothing between two turns, and a run that failed is over. A
    graph resumes one that failed; agents of ADK are told the next thing.
    """
    if any(each.scenario.hand_over for each in corpus.worlds):
        return corpus
    points: Sequence[HandOverPoint] = POINTS[:1] if keeps == OWN_STORE else POINTS
    asks = _waits if of_graphs or keeps == OWN_STORE else _is_answered
    handed = _resuming if of_graphs else _answering
    first, others = list[MigrationWorld](), list[MigrationWorld]()
    for point in points:
        worlds = [
            handed(point, each) for each in _at_point(point, corpus, played, asks)
        ]
        first += worlds[: MOST[point]]
        others += worlds[MOST[point] :]
    more = [*first, *others][:IN_ALL]
    return replace(corpus, worlds=(*corpus.worlds, *more))


def _waits(item: Item) -> bool:
    """Tell whether a run waits there."""
    return bool(item["kind"] == "interrupt")


def _is_answered(item: Item) -> bool:
    """Tell whether a person answers there what a run of ADK has ended with."""
    return bool(item["kind"] == "effect" and item["data"]["name"] == APPROVAL)


def _at_point(
    point: HandOverPoint, corpus: Corpus, played: Sequence[TracedWorld], asks: Asks
) -> list[MigrationWorld]:
    """Return the smallest worlds that leave a run there, each of another shape."""
    found: dict[Shape, MigrationWorld] = {}
    usual = (
        pair
        for pair in zip(corpus.worlds, played, strict=False)
        if pair[0].unusual is None and pair[1].refused is None
        if pair[0].scenario.agent is not None and not pair[0].scenario.keeps
        if not asks_itself(pair[0].scenario)
    )
    for entry, each in sorted(usual, key=lambda pair: _telling(pair, asks)):
        for shape in _SHAPES[point](entry.scenario, each.jsonl, asks):
            found.setdefault((entry.scenario.way, *shape), entry)
    return [*{id(each): each for each in found.values()}.values()]


def _telling(
    pair: tuple[MigrationWorld, TracedWorld], asks: Asks
) -> tuple[bool, tuple[int, int]]:
    """Return how little a world tells: less if no tool runs that a person allowed."""
    entry, played = pair
    return not _runs_what_was_asked(played.jsonl, asks), size(entry.scenario)


def _runs_what_was_asked(jsonl: str, asks: Asks) -> bool:
    """Tell whether a tool runs that a question before it names."""
    asked = ""
    for each in _items(jsonl) if ASKS.search(jsonl) else ():
        if asks(each):
            asked = json.dumps(each["data"])
        elif each["kind"] == "tool_start" and f'"{each["data"]["name"]}"' in asked:
            return True
    return False


def _answering(point: HandOverPoint, entry: MigrationWorld) -> MigrationWorld:
    """Return the world with a session that is left; after a failure it goes on."""
    changed: dict[str, object] = {"hand_over": point}
    runs = entry.scenario.runs
    if point == "failed" and not any(each.continues for each in runs):
        changed["runs"] = (*runs, AND_THEN)
        changed["model_script"] = (*entry.scenario.model_script, ANSWER)
    scenario = entry.scenario.model_copy(update=changed)
    return MigrationWorld(scenario, FAMILY, entry.fixed)


def _resuming(point: HandOverPoint, entry: MigrationWorld) -> MigrationWorld:
    """Return the world with a run that is left; one that failed is tried again."""
    changed: dict[str, object] = {"hand_over": point}
    if point == "failed" and entry.scenario.agent is not None:
        tools = tuple(map(_failing_once, entry.scenario.agent.tools))
        changed["agent"] = entry.scenario.agent.model_copy(update={"tools": tools})
    scenario = entry.scenario.model_copy(update=changed)
    return MigrationWorld(scenario, FAMILY, entry.fixed)


def _failing_once(tool: ToolSpec) -> ToolSpec:
    """Return the tool that fails the first time only, so that there is a second."""
    if tool.error is None:
        return tool
    body = ({"op": "error", "text": tool.error, "on_call": 1},)
    given = tool.model_dump(exclude={"error", "body"}, exclude_defaults=True)
    return ToolSpec.model_validate({**given, "result": "ok", "body": body})


def _asking(world: Scenario, jsonl: str, asks: Asks) -> Iterator[Shape]:
    """Yield the shape of the first question: which run and calls, and what is said."""
    if not ASKS.search(jsonl):
        return
    calls = 0
    for each in _items(jsonl):
        if each["kind"] == "model_response":
            calls = _calls(each)
        elif asks(each):
            number = _run_of(each)
            run = world.runs[number - 1]
            said = bool(run.denies), len(run.replies), run.streaming
            yield calls, number, *said, _asked_in(each)
            return


def _asked_in(item: Item) -> Shape:
    """Return the keys of a question: which form it has."""
    data = item["data"]
    value = data.get("value", data.get("payload", data.get("data")))
    return tuple(sorted(value)) if is_mapping(value) else ()


def _turning(world: Scenario, _: str, __: Asks) -> Iterator[Shape]:
    if any(run.continues for run in world.runs[1:]):
        said = [(run.continues, run.streaming) for run in world.runs]
        yield len(world.all_agents[0].tools), *said


def _failing(world: Scenario, jsonl: str, _: Asks) -> Iterator[Shape]:
    """Yield the shape of the first run that failed in a tool: how many calls.

    Of several that run at the same time it is luck which are kept as done; and a run
    that begins something else shows nothing of what the failed one left.
    """
    if '"tool_error"' not in jsonl:
        return
    calls, failed = 0, False
    for each in _items(jsonl):
        if each["kind"] == "model_response":
            calls, failed = _calls(each), False
        failed = failed or each["kind"] == "tool_error"
        if each["kind"] == "run_end" and failed and each["data"]["status"] == "error":
            number = _run_of(each)
            later = world.runs[number : number + 1]
            goes_on = all(run.continues for run in later)
            if goes_on and (calls == 1 or world.way == "sync"):
                yield calls, number, world.runs[number - 1].streaming
            return


def _items(jsonl: str) -> Iterator[Item]:
    return map(json.loads, jsonl.splitlines())


def _run_of(item: Item) -> int:
    return cast("int", item["run"])


def _calls(item: Item) -> int:
    return len(item["data"]["message"].get("tool_calls", ()))


_SHAPES: Final[
    Mapping[HandOverPoint, Callable[[Scenario, str, Asks], Iterator[Shape]]]
] = MappingProxyType(
    {"interrupted": _asking, "between turns": _turning, "failed": _failing}
)


# What came of them


def handed_verdict(
    sides: tuple[SideRunner, SideRunner],
    worlds: Sequence[BothPlayed],
    breaking: AbstractSet[int],
) -> HandOverVerdict:
    """Return what is said of runs that outlive the upgrade.

    In the places of ``breaking`` the sides differ in what is required of them.
    """
    stores = [each.keeps for each in sides if each.keeps]
    if len(stores) < len(sides):
        return HandOverVerdict(absent=_absent(*sides))
    handed = [each for each in worlds if each.scenario.hand_over is not None]
    inside = [each for each in handed if each.refused is None]
    if not inside:
        why = next((each.refused for each in handed if each.refused), None)
        return HandOverVerdict(absent=why or "no world leaves a run of it")
    played = Counter(str(each.scenario.hand_over) for each in inside)
    diverging = sum(each.at in breaking for each in inside)
    changed = dict(sorted(found for each in inside for found in _changed(each)))
    kept = tuple(dict.fromkeys(stores))
    return HandOverVerdict(dict(played), diverging, kept, changed=changed)


def _absent(old: SideRunner, new: SideRunner) -> str:
    if not old.keeps and not new.keeps:
        return "neither side keeps a run"
    who, other = ("OLD", "NEW") if new.keeps else ("NEW", "OLD")
    return f"{who} keeps no run, and {other} does"


def _changed(world: BothPlayed) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the values that came back to OLD with another type, and both types."""
    for entry in world.old.entries(CHANNEL):
        were, types = (cast("Item", entry.value[key]) for key in ("were", "types"))
        for path in were.keys() & types.keys():
            if were[path] != types[path]:
                yield path.removeprefix("."), (were[path], types[path])
