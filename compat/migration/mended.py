"""Worlds made better where OLD's own code broke in them, for want of something.

    world, failure → the same with what was missing → OLD again → ... → a world, or none

An expression that breaks by itself (``state["tenant"]`` without a tenant) says that the
world lacks what the application always has. So it is given: a value by that name, an
argument of a call, a text where there was none. Of worlds that break in one way a few
are mended step by step, and the others as those were (verdicts, Domain).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import Any, Final, TypeAlias

from refengine.messages import Json, ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import parse_message, show_message
from refengine.testing.own_failures import OwnFailure
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, read_scenario
from refengine.testing.subject_worlds.kit import given_by_name

Data: TypeAlias = "dict[str, Any]"
Mend: TypeAlias = Callable[[Data, int], Data]
"""Gives a world something; the number of the world chooses which of several values."""
Play: TypeAlias = Callable[[Sequence[Scenario]], Sequence["OwnFailure | None"]]
"""Plays OLD in worlds, and tells where its own code broke in each."""

STEPS: Final = 4
"""So many things are given to one world at most."""
SAMPLE: Final = 3
"""So many worlds that break in one way are mended step by step."""
WAYS: Final = 12
"""So many ways to break are looked at, the most frequent first."""
VALUES: Final[Sequence[Json]] = ("a", 1, ["a"], {"a": "a"})
"""What stands for a value of which nothing is known, one of each type."""


@dataclass(frozen=True, slots=True)
class BrokenWorld:
    """A world of a corpus, at its place there, in which OLD's own code broke."""

    at: int
    world: Scenario
    failure: OwnFailure


class WorldMender:
    """Mends worlds by playing them, with the values that those of a corpus have."""

    def __init__(self, play: Play, corpus: Sequence[Scenario]) -> None:
        self._play = play
        self._known: dict[str, list[Json]] = {}
        for run in (run for world in corpus for run in world.runs):
            for given in (run.options, *run.doors.values()):
                for name, value in given.items():
                    if value not in (known := self._known.setdefault(name, [])):
                        known.append(value)

    def mended(self, broken: Sequence[BrokenWorld]) -> dict[int, Scenario]:
        """Return the worlds in which nothing breaks any more, by place."""
        found: dict[int, Scenario] = {}
        for some in _by_way(broken):
            rest, mended = some, True
            while rest and mended:
                known = len(found)
                for each in rest[:SAMPLE]:
                    if each.at not in found and (steps := self._steps(each)):
                        found.update(self._alike(rest, steps))
                        rest = [each for each in rest if each.at not in found]
                mended = len(found) > known
        return found

    def _alike(
        self, broken: Sequence[BrokenWorld], steps: Sequence[Mend]
    ) -> dict[int, Scenario]:
        """Return those of these worlds that need no more than these steps."""
        made = [(each.at, _given(each, steps)) for each in broken]
        worlds = [(at, world) for at, world in made if world is not None]
        played = self._play([world for _, world in worlds])
        both = zip(worlds, played, strict=True)
        return {at: world for (at, world), broke in both if broke is None}

    def _steps(self, broken: BrokenWorld) -> tuple[Mend, ...]:
        """Return what one world has to be given, one after the other; none if it fails.

        A step counts if something else breaks after it, or nothing.
        """
        steps: tuple[Mend, ...] = ()
        failure = broken.failure
        while len(steps) < STEPS:
            tried = [(*steps, each) for each in self._mends(failure)]
            worlds = [_given(broken, each) for each in tried]
            made = [(s, w) for s, w in zip(tried, worlds, strict=True) if w is not None]
            played = self._play([world for _, world in made])
            after = [*zip([each for each, _ in made], played, strict=True)]
            done = next((each for each, broke in after if broke is None), None)
            if done is not None:
                return done
            moved = ((each, f) for each, f in after if f and _way(f) != _way(failure))
            steps, failure = next(moved, ((), failure))
            if not steps:
                return ()
        return ()

    def _mends(self, failure: OwnFailure) -> Iterator[Mend]:
        """Yield what may be missing where something broke."""
        yield _filled
        name = failure.missing
        if name is None:
            kinds = dict.fromkeys(map(type, chain.from_iterable(self._known.values())))
            yield from (partial(_typed, kind=each, known=self._known) for each in kinds)
            return
        for values in _by_type([*self._known.get(name, ()), *VALUES]):
            yield partial(_with_option, name=name, values=values)
        for value in VALUES[:2]:
            yield partial(_with_argument, name=name, value=value)


def _way(failure: OwnFailure) -> tuple[object, ...]:
    return failure.error, failure.file, failure.line, failure.missing


def _by_way(broken: Sequence[BrokenWorld]) -> list[list[BrokenWorld]]:
    """Return the worlds that break in one way together, small ones first."""

    def key(each: BrokenWorld) -> tuple[str, ...]:
        return tuple(map(str, _way(each.failure)))

    small = sorted(broken, key=lambda each: (key(each), _size(each.world), each.at))
    groups = [list(some) for _, some in groupby(small, key)]
    return sorted(groups, key=len, reverse=True)[:WAYS]


def _size(world: Scenario) -> int:
    return len(world.runs) + len(world.model_script)


def _by_type(values: Sequence[Json]) -> list[list[Json]]:
    found: dict[type, list[Json]] = {}
    for each in values:
        if each not in found.setdefault(type(each), []):
            found[type(each)].append(each)
    return [*found.values()]


def _given(broken: BrokenWorld, steps: Sequence[Mend]) -> Scenario | None:
    """Return a world with what it is given; None if that changes nothing."""
    before = broken.world.model_dump_json(exclude_defaults=True)
    data: Data = json.loads(before)
    for each in steps:
        data = each(data, broken.at)
    try:
        made = read_scenario(data, "a mended world")
    except ScenarioError:
        return None
    return None if made == broken.world else made


# What a world may lack


def _with_option(data: Data, at: int, name: str, values: Sequence[Json]) -> Data:
    value = values[at % len(values)]
    runs = [
        {**run, "options": {**run.get("options", {}), name: value}}
        for run in data.get("runs", ())
    ]
    return {**data, "runs": runs}


def _typed(
    data: Data, at: int, kind: type, known: Mapping[str, Sequence[Json]]
) -> Data:
    """Give each named value as one of this type, if other worlds have one."""

    def other(name: str, value: Json) -> Json:
        some = [each for each in known.get(name, ()) if type(each) is kind]
        return some[at % len(some)] if some and type(value) is not kind else value

    runs = json.loads(json.dumps(data.get("runs", [])))
    for given in (each for run in runs for each in given_by_name(run)):
        given.update({k: other(k, v) for k, v in given.items()})
    return {**data, "runs": runs}


def _with_argument(data: Data, at: int, name: str, value: Json) -> Data:  # noqa: ARG001  # as all mends
    script = [
        _argued(entry, name, value) if isinstance(entry, str) else entry
        for entry in data.get("model_script", ())
    ]
    return {**data, "model_script": script}


def _argued(text: str, name: str, value: Json) -> str:
    """Return an answer each of whose calls has the argument."""
    message = parse_message(text)
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        try:
            given: object = json.loads(call.arguments)
        except ValueError:
            given = {}
        made: Data = {name: value, **(given if is_mapping(given) else {})}
        calls.append(replace(call, arguments=json.dumps(made)))
    return show_message(replace(message, tool_calls=tuple(calls))) if calls else text


def _filled(data: Data, at: int) -> Data:  # noqa: ARG001  # as all mends
    """Put a text where a message, an answer or a tool's result has none."""
    runs = [
        {**run, "input": [*map(_spoken, run.get("input", ()))] or ["user:a"]}
        if "resume" not in run
        else run
        for run in data.get("runs", ())
    ]
    script = [
        _spoken(entry) if isinstance(entry, str) else _chunked(entry)
        for entry in data.get("model_script", ())
    ]
    made = {**data, "runs": runs, "model_script": script}
    if "agent" in data:
        tools = [
            each if _says(each) else {**each, "result": "a"}
            for each in data["agent"].get("tools", ())
        ]
        made["agent"] = {**data["agent"], **({"tools": tools} if tools else {})}
    return made


def _spoken(text: str) -> str:
    message = parse_message(text)
    return text if message.content else show_message(replace(message, content="a"))


def _chunked(entry: Data) -> Data:
    chunks: Sequence[str] = entry.get("chunks", ())
    if "chunks" not in entry or any(parse_message(each).content for each in chunks):
        return entry
    return {**entry, "chunks": ["assistant:a", *chunks]}


def _says(tool: Data) -> bool:
    return any(tool.get(key) for key in ("result", "chunks", "error", "stream_error"))
