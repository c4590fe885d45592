"""Worlds for graphs of LangGraph and LangChain, from those for our own extensions.

A graph is all there is of an agent: it has no neighbours in a list, so what worlds have
of those goes, and the tools they add join the agent's own. What the frameworks answer
differently by themselves, whatever middleware there is, goes too: it would hide what a
port does, and ``refengine profile diff`` tells it (histories with calls that nobody
answered, arguments that are not an object, endless loops, answers in which only some of
the calls end the run).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, cycle, repeat, zip_longest
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from refengine.messages import Message, ToolCall
from refengine.testing.notation import SURROGATE, parse_message, show_message
from refengine.testing.own_tools import own
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.across import across, fits_across
from refengine.testing.subject_worlds.graph_inputs import (
    EQUAL_IDS,
    TALKED_ON,
    argued,
    inputs,
)
from refengine.testing.subject_worlds.kit import (
    Data,
    Kit,
    answer,
    fixed_world,
    json_text,
)
from refengine.testing.subject_worlds.named_values import GraphWords, Option, Value
from refengine.testing.subject_worlds.turns import WordTurns
from refengine.testing.subject_worlds.words import Dice, Words
from refengine.testing.subject_worlds.worlds import (
    WORDS,
    of_turns,
    standing_instructions,
)

SHARE: Final = 6
"""A run of a graph costs milliseconds, so fewer shapes of each word are tried."""
KEPT: Final = (0, 3)
"""Of four turns with a number these: each place, in one mode."""
TURNS: Final = 8
BY_NAME: Final = "values by name"
"""The family whose runs are given what they say, and nothing else."""
Gives: TypeAlias = Literal["nothing", "what is needed", "most"]
GIVES: Final[Mapping[str, Gives]] = MappingProxyType(
    {BY_NAME: "nothing", TALKED_ON: "what is needed"}
)
"""Which values by name the runs of a family are given, where that is not most."""
EDGES: Final = 24
VALUES: Final = 4
"""So many values of an option come one by one, at its edges and others."""
OWN_TOOLS: Final = 3
OWN_VALUES: Final = 16
RUNS: Final = 10
"""So many runs has a world at most."""
DENIES: Final = 3
PLAIN: Final = 4
"""One world in so many has calls that are denied, or no values but what is needed."""
GONE: Final = ("handlers", "middlewares", "tool_call_middlewares")
KEPT_OF_TOOLS: Final = (
    "name",
    "description",
    "parameters",
    "result",
    "by_call",
    "delay_ms",
)
NO_POSTURE: Final = ("unknown_tools_handler", "sequential", "max_iterations", "name")
"""What a graph's agent has not, or has by its framework's own rule."""


def graph_worlds(
    words: Words, more: GraphWords, worlds: Iterable[tuple[str, object]], seed: int
) -> Iterator[tuple[str, Data]]:
    """Yield worlds for graphs, no two the same: these as they fit, and some more."""
    seen: set[str] = set()
    some = ((name, made) for name, made in worlds if name not in WORDS)
    every = chain(
        _by_name(words, more),
        some,
        inputs(words, more),
        own_tools(words),
        _using_up(words, seed),
        argued(words),
    )
    for at, (family, world) in enumerate(every):
        made = _without(fitted(world, own_ids=family != EQUAL_IDS), more.own_tools)
        made = for_both(made, more)
        key = json.dumps(made, sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        dice = Dice(f"{seed}/graph/{at}")
        # Not in turn: families yield pairs, and all of one kind would have one way.
        plain = Dice(f"{seed}/way/{at}").chance(2) or _is_race(made)
        way = "sync" if plain else "async"
        given = GIVES.get(family, "most")
        yield family, _dressed(made, more, dice, way=way, given=given)


def for_both(made: Data, more: GraphWords) -> Data:
    """Return a world in which the frameworks of both sides do the same by themselves.

    Those of LangChain and LangGraph do in all that ``fitted`` leaves.
    """
    return across(made, more.own_tools) if more.across else made


def _without(made: Data, own_tools: Collection[str]) -> Data:
    """Return a world none of whose tools has the name of one of the subject's own."""
    agent: Data = made["agent"]
    kept = [each for each in agent.get("tools", ()) if each["name"] not in own_tools]
    if len(kept) == len(agent.get("tools", ())):
        return made
    left = {key: value for key, value in agent.items() if key != "tools"}
    return {**made, "agent": {**left, **({"tools": kept} if kept else {})}}


def graph_given(
    given: Iterable[tuple[str, Data]], more: GraphWords, seed: int
) -> Iterator[tuple[str, Data]]:
    """Yield a user's own worlds as a graph may have them, both ways in turn.

    They keep their options and answers of a person, and have what the subject takes
    without asking.
    """
    seen: set[str] = set()
    for at, (family, world) in enumerate(given):
        made = for_both(fitted(world, most=None), more)
        key = json.dumps(made, sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        dice = Dice(f"{seed}/given/{at}")
        needed = values_given(more, dice, all_of_them=False)
        for run in made["runs"]:
            run.update(_joined(needed, run))
        way = made.pop("way", "sync" if at % 2 else "async")
        yield family, {**made, **({"way": way} if way != "async" else {})}


def _by_name(words: Words, more: GraphWords) -> Iterator[tuple[str, Data]]:
    """Yield worlds whose runs are given one value each, or nothing that they can miss.

    Each option comes at each of its edges, by each door, and not at all; the others are
    given only if they are needed.
    """
    given: list[tuple[Option, Value, Sequence[str]] | None] = [None]
    for option in more.options:
        ways = [*combinations(option.doors)] or [()]
        values = [*option.edges[:EDGES], *option.values[:VALUES]]
        given += [(option, each, ways[0]) for each in values]
        given += [(option, option.values[0], each) for each in ways[1:]]
    if not more.options:
        return
    # Twice, for who counts: by what is given, more or less may be allowed.
    calls = [ToolCall(f"v{at}", words.some_names[0], "{}") for at in range(2)]
    script = [*(answer("", [each]) for each in calls), "assistant:done"]
    tool = {"name": words.some_names[0], "result": "<args>"}
    for start in range(0, len(given), TURNS):
        some = given[start : start + TURNS]
        runs = [{"input": ["user:go"], **_given_alone(more, each)} for each in some]
        made = {"agent": {"tools": [tool]}, "model_script": script * len(runs)}
        yield BY_NAME, {**made, "runs": runs}


def _given_alone(
    more: GraphWords, alone: tuple[Option, Value, Sequence[str]] | None
) -> Data:
    """Return what a run says of values: this one, and those that are needed."""
    found: Data = {}
    for each in more.options:
        if each.needed and (alone is None or each != alone[0]):
            put_in(found, each, each.values[0], each.doors[:1])
    if alone is not None:
        put_in(found, *alone)
    return found


def _joined(needed: Data, run: Data) -> Data:
    """Return the values that a run has, and those that it needs and has not."""
    has = {*run.get("options", {}), *chain(*run.get("doors", {}).values())}
    given = {**needed.get("doors", {}), "": needed.get("options", {})}
    more = {
        door: {name: value for name, value in some.items() if name not in has}
        for door, some in given.items()
    }
    options = {**more.pop(""), **run.get("options", {})}
    doors = run.get("doors", {})
    joined = {d: {**more.get(d, {}), **doors.get(d, {})} for d in {**more, **doors}}
    joined = {door: some for door, some in joined.items() if some}
    return {k: v for k, v in (("options", options), ("doors", joined)) if v}


def own_tools(words: Words, *, unfit: bool = True) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which the subject's own tools are called as they ask to be.

    Which there are, and what they take, is known when the model is shown them: the
    world's model puts a name and arguments in the place of ``<own 0>``. Only with
    ``unfit`` are there arguments that a tool does not take.
    """
    numbers = [n + d for n in words.some_numbers for d in (-1, 0, 1)]
    values = list(
        zip_longest(
            dict.fromkeys([1, *numbers][:OWN_VALUES]), words.some_texts[:OWN_VALUES]
        )
    )
    for which in range(OWN_TOOLS):
        for start in range(0, len(values), TURNS):
            some = values[start : start + TURNS]
            yield "own tools", _asked_of_own(which, some, within=not unfit)
        if unfit:
            yield "own tools", fixed_world("misused", own=[own(which)])


def _asked_of_own(
    which: int, values: Sequence[tuple[object, object]], *, within: bool
) -> Data:
    script: list[object] = []
    runs: list[Data] = []
    for at, (number, text) in enumerate(values):
        fit = {"integer": number, "string": text, "optional": at % 2 == 0}
        fit = {key: value for key, value in fit.items() if value is not None}
        fit |= {"within": True} if within else {}
        once = ToolCall(f"o{at}", own(which), json_text(fit))
        other = ToolCall(f"p{at}", own(which + 1), json_text(fit))
        calls = [[once], [once, other], [other]][: 1 + at % 3]
        script += [*(answer("", each) for each in calls), f"assistant:done {at}"]
        turn = {"continues": True} if at % 2 else {}
        runs.append({"input": ["user:go"], "streaming": at % 4 > 1, **turn})
    return {"agent": {}, "model_script": script, "runs": runs}


def _using_up(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield worlds that use up the words, each of few turns with the tools of those.

    A graph is sent all its tools each time, so long worlds with many of them cost far
    more than as many turns in short ones.
    """
    turns = WordTurns(Kit(words, f"{seed}/graph/turns"), SHARE)
    made = {
        "names": [*turns.of_names(), *turns.of_other_names()],
        "numbers": [t for at, t in enumerate(turns.of_numbers()) if at % 4 in KEPT],
        "texts": [*turns.of_texts()],
        "patterns": [*turns.of_patterns()],
    }
    standing = cycle(standing_instructions(words))
    for family, some in made.items():
        for at in range(0, len(some), TURNS):
            kit = Kit(words, f"{seed}/graph/{family}/{at}")
            world = of_turns(kit, some[at : at + TURNS], None)
            if family != "numbers":
                world["agent"]["instruction"] = next(standing)
            yield family, world


def fits_both(more: GraphWords) -> Callable[[Scenario], bool] | None:
    """Return what tells the worlds of two frameworks; None where there is but one."""
    if not more.across:
        return None
    own = more.own_tools
    return lambda world: fits_a_graph(world) and fits_across(world, own)


def fits_a_graph(world: Scenario) -> bool:
    """Tell whether a world is one that a graph may have, after it was made smaller."""
    data = world.model_dump(mode="json", exclude_defaults=True)
    return fitted(data, most=None) == data


def fitted(world: object, most: int | None = RUNS, *, own_ids: bool = True) -> Data:
    """Return a world, as JSON, as far as a graph may have it, of ``most`` runs.

    Each call gets an id of its own, unless the world is about equal ones.
    """
    text = SURROGATE.sub("\N{REPLACEMENT CHARACTER}", json.dumps(world))
    made: Data = json.loads(text)
    agent = made["agent"]
    added = [
        tool for key in GONE for part in agent.pop(key, ()) for tool in _added(part)
    ]
    for key in NO_POSTURE:
        agent.pop(key, None)
    tools = [_tool(each) for each in (*agent.get("tools", ()), *added)]
    if not tools and any(map(_calls_any, made.get("model_script", ()))):
        tools = [{"name": "other"}]
    if tools:
        agent["tools"] = [*{each["name"]: each for each in tools}.values()]
    made.pop("script_end", None)
    if made.get("runs"):
        made["runs"] = made["runs"][:most]
    if made.get("model_script") and own_ids:
        seen = set(_ids_in(made.get("runs", ())))
        made["model_script"] = [_entry(each, seen) for each in made["model_script"]]
    if _mixes(made.get("model_script", ()), agent.get("return_directly", {})):
        del agent["return_directly"]
    for run in made.get("runs", ()):
        if run.get("input"):
            run["input"] = _answered([parse_message(each) for each in run["input"]])
    return made


def _mixes(script: Iterable[object], direct: Mapping[str, bool]) -> bool:
    """Tell whether one answer calls a tool that ends the run and one that does not.

    Then the older agent ends, and the newer one goes on, or the other way round.
    """
    called = [
        {direct.get(call.name, False) for call in _calls(each)} for each in script
    ]
    return any(len(flags) > 1 for flags in called)


def _added(extension: Mapping[str, Any]) -> Iterator[Data]:
    """Yield the tools that a neighbour adds."""
    yield from extension.get("additional_tools", ())
    for op in extension.get("before_agent") or ():
        yield from op.get("tools", ())


def _tool(tool: Data) -> Data:
    """Return a tool that answers in one piece, as those of both frameworks do."""
    made: Data = {key: tool[key] for key in KEPT_OF_TOOLS if key in tool}
    if tool.get("chunks") and not tool.get("result"):
        made["result"] = "".join(tool["chunks"])
    failure = tool.get("error") or tool.get("stream_error")
    if failure:
        made["error"] = failure
    body = [op for op in tool.get("body", ()) if op["op"] == "error"]
    if body:
        made["body"] = body
    return made


def _ids_in(runs: Iterable[Data]) -> Iterator[str]:
    """Yield the ids of the calls that histories hold."""
    for run in runs:
        for text in run.get("input", ()):
            yield from (call.id for call in parse_message(text).tool_calls)


def _entry(entry: object, seen: set[str]) -> object:
    if isinstance(entry, str):
        return _message(entry, seen)
    made: Data = dict(entry)  # type: ignore[call-overload]  # JSON values, of which only an object is left
    if "chunks" in made:
        made["chunks"] = [_message(each, seen) for each in made["chunks"]]
    return made


def _message(text: str, seen: set[str]) -> str:
    """Return a message whose calls have objects for arguments, and ids of their own.

    A vendor gives each call another id. The older agent takes one of a known id for
    answered.
    """
    message = parse_message(text)
    if not message.tool_calls:
        return text
    calls = tuple(
        replace(
            call,
            id=_fresh(call.id or "e", seen),
            arguments=call.arguments if _is_object(call.arguments) else "{}",
        )
        for call in message.tool_calls
    )
    return show_message(replace(message, tool_calls=calls))


def _fresh(id_: str, seen: set[str]) -> str:
    """Return the id, numbered if it was seen, and remember it."""
    numbered = (f"{id_}-{number}" for number in count(2))
    found = next(each for each in chain([id_], numbered) if each not in seen)
    seen.add(found)
    return found


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _answered(messages: Sequence[Message]) -> list[str]:
    """Return a history in which calls have results, and results calls, as texts."""
    out: list[str] = []
    results = [m.tool_call_id for m in messages if m.role == "tool"]
    called: set[str | None] = set()
    for message in messages:
        if message.role == "tool" and message.tool_call_id not in called:
            continue
        called |= {call.id for call in message.tool_calls}
        out.append(_message(show_message(message), set()))
        last = parse_message(out[-1])
        out += [f"tool({c.id}):r" for c in last.tool_calls if c.id not in results]
    return out


def _dressed(
    made: Data, more: GraphWords, dice: Dice, way: str, *, given: Gives
) -> Data:
    """Return a world with its way, and in some worlds denied calls.

    Runs are ``given`` values by name, if they have not their own already.
    """
    script = made.get("model_script", ())
    calls = [call.id for entry in script for call in _calls(entry)]
    denied = calls[:: 1 + dice.below(2)] if dice.chance(DENIES) else []
    most = not dice.chance(PLAIN) and given == "most"
    runs: list[Data] = []
    replies = _replies(more, dice)
    for run in made.get("runs", ()):
        named: Data = {}
        if given != "nothing":
            named = values_given(more, dice, all_of_them=most)
        named |= {"denies": denied} if denied else {}
        # Where a world says by itself which calls are denied, the others are not.
        said = _told(more, ["yes"])[:1] if "denies" in run else replies
        runs.append({**named, **run, **({"replies": said} if said else {})})
    return {**made, "runs": runs, **({"way": way} if way != "async" else {})}


def _calls(entry: Any) -> Iterator[ToolCall]:  # noqa: ANN401  # an entry of a script
    texts: Sequence[str] = (
        [entry] if isinstance(entry, str) else entry.get("chunks", ())
    )
    for text in texts:
        yield from parse_message(text).tool_calls


def _is_race(made: Data) -> bool:
    """Tell whether an answer makes the same call twice: who comes first is luck then.

    One who remembers results finds that of the other call or does not, as threads and
    tasks come; called plain they come one after the other. Two calls of a tool that
    counts them are the same one, whatever they are given.
    """
    tools = made["agent"].get("tools", ())
    counted = {
        each["name"]
        for each in tools
        if any("on_call" in op for op in each.get("body", ()))
    }
    for entry in made.get("model_script", ()):
        calls = [
            (call.name, call.name in counted or call.arguments)
            for call in _calls(entry)
        ]
        if len(calls) != len(set(calls)):
            return True
    return False


def _calls_any(entry: object) -> bool:
    """Tell whether an entry calls a tool; then there has to be one.

    Without any, the older agent ends, and a newer one that wraps calls answers them.
    """
    return any(True for _ in _calls(entry))


def _options(
    more: GraphWords, dice: Dice, *, all_of_them: bool
) -> list[tuple[Option, Value]]:
    """Return the values that the subject looks for, most of them.

    What it takes without asking is always there, as it is for real callers.
    """
    return [
        (option, dice.pick(option.values))
        for option in more.options
        if option.needed or (all_of_them and not dice.chance(4))
    ]


def _told(more: GraphWords, kinds: Sequence[str] = ()) -> list[Data]:
    """Return what a person may say to a subject, of these kinds or of any."""
    return [
        {"kind": kind, "value": value}
        for kind, value in more.replies
        if not kinds or kind in kinds
    ]


def _replies(more: GraphWords, dice: Dice) -> list[Data]:
    """Return how a person answers in a world: in one way, or in turn in each."""
    some = _told(more)
    if not some:
        return []
    first = dice.below(len(some))
    return some[:1] if dice.chance(3) else [*some[first:], *some[:first]]


def values_given(more: GraphWords, dice: Dice, *, all_of_them: bool) -> Data:
    """Return what a run says of the values that it is given by name.

    Without ``all_of_them`` those alone that the subject takes without asking.
    """
    found: Data = {}
    for option, value in _options(more, dice, all_of_them=all_of_them):
        ways = [*combinations(option.doors)]
        put_in(found, option, value, dice.pick(ways) if ways else ())
    return found


def combinations(doors: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each door alone, then all of them together, in both orders."""
    yield from ((each,) for each in doors)
    if len(doors) > 1:
        yield from (tuple(doors), tuple(reversed(doors)))


def put_in(run: Data, option: Option, value: Value, doors: Sequence[str]) -> None:
    """Give a run a value by these doors, by all that there are if none is named.

    By the first door comes the value, by the others another one, so that it is seen
    which of them a subject listens to.
    """
    if not doors:
        run.setdefault("options", {})[option.name] = value
    other = next((each for each in option.values if each != value), value)
    for door, given in zip(doors, chain([value], repeat(other)), strict=False):
        run.setdefault("doors", {}).setdefault(door, {})[option.name] = given
