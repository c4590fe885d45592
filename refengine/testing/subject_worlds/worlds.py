"""Worlds for a subject, by family, in its own words.

Struct middlewares of the world stand before the subject, handlers after it.

Nothing is drawn by Hypothesis: dice with one seed a world make 100 of them in a tenth
of a second, the same ones with every version of everything. Shrinking is not the
strategy's business here, as two traces are compared and not one property checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, cycle
from types import MappingProxyType
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import encoded
from refengine.testing.subject_worlds.families import (
    FAMILIES,
    calling,
    some_names,
    watcher,
    world,
)
from refengine.testing.subject_worlds.kit import (
    HISTORY,
    KINDS,
    LONGEST,
    Data,
    Entry,
    Kit,
    answer,
    lengths,
    long_text,
)
from refengine.testing.subject_worlds.turns import DONE, GO, WordTurn, WordTurns, packed
from refengine.testing.subject_worlds.words import Words, forms, matching

ROUNDS: Final = 12
"""A number up to which a model asks for as many rounds of calls, and one more."""
FLAKY: Final = 6
"""So often in a row a flaky tool fails at most."""
COUNTED: Final = 4
"""For so many of the subject's numbers a tool fails as often."""
NAMED: Final = 4
"""So many tools of the subject's names fail in turn."""
KEPT: Final = 2
"""For so many numbers something is remembered in as many places."""
ANSWERED: Final = 2
"""So many seconds the model takes for a call between two others, and the next."""
DAY: Final = 86_400
"""So many seconds go by at most."""
BETWEEN: Final = 6
"""So many are called between two calls of each other."""
KEYS: Final = frozenset(
    (
        *("ai", "args", "configurable", "content", "human", "id", "messages"),
        *("name", "role", "status", "tool_call_id", "tool_calls", "type"),
    )
)
"""Names by which sources read messages and calls: seldom those of their tools."""
CLASSES: Final = 6
"""So many classes of errors a tool fails with, at most."""
FAILING: Final = (
    "before_agent",
    "before_model",
    "after_model",
    "after_agent",
    "before_chat_model",
    "after_chat_model",
    "invokable",
    "streamable",
    "invokable tool",
    "streamable tool",
    "tool stream",
    "tool body",
    "model",
    "model stream",
    "model at once",
)
"""Where something fails, one after the other: every one of them in every corpus."""


TOOLS: Final[Mapping[str, Data]] = MappingProxyType(
    {
        "invokable tool": {"kind": "invokable", "error": "boom"},
        "streamable tool": {"kind": "streamable", "error": "boom"},
        "tool stream": {"kind": "streamable", "stream_error": "cut off"},
    }
)
"""How a tool fails, whichever of them is called."""


def failures(kit: Kit, where: str) -> Data:
    """Return a world in which one point fails, at one of its first iterations."""
    names = some_names(kit, 2)
    agent: Data = {"tools": [kit.tool(name) for name in names]}
    script = calling(kit, names, 3)
    nth = 1 + kit.dice.below(3)
    error: Data = {"op": "error", "text": "boom", "on_call": nth}
    if where in {"before_agent", "after_agent"}:
        error["on_call"] = 1
    given = None
    if where in TOOLS:
        for tool in agent["tools"]:
            tool.update(TOOLS[where])
    elif where == "tool body":
        agent["tools"][0]["body"] = [error]
    elif where == "model at once":  # what a subject itself asks it may fail, too
        script = [{"error": "no-model"}, *script]
        given = [kit.user() for _ in range(max(8, kit.length(HISTORY)))]
    elif where.startswith("model"):
        script[nth - 1] = _failure(kit, script[nth - 1], where)
    elif where.endswith("chat_model"):
        agent["middlewares"] = [{"id": "fails", where: [error]}]
    elif where in {"invokable", "streamable"}:
        _fail_at_tools(kit, agent, where, names[0])
    else:
        agent["handlers"] = [{"id": "fails", where: [error]}]
    made = world(kit, agent, script, given)
    return {**made, "runs": [*made["runs"], {"input": ["user:again"]}]}


def flaky(words: Words) -> Iterator[Data]:
    """Yield worlds in which a tool fails so often in a row, works once, fails again.

    Who counts failures, or tries again, is told by that alone: for each small number of
    the subject's, one failure less and as many, within a run and over runs.
    """
    numbers = [number for number in words.some_numbers if 1 < number <= FLAKY]
    for number in numbers[:COUNTED]:
        for fails in (number - 1, number):
            for kind in KINDS[:2]:
                kit = Kit(words, f"flaky/{fails}/{kind}")
                yield _flaky(kit, fails, kind, in_runs=False)
                yield _flaky(kit, fails, kind, in_runs=True)
    # Who does so for one tool only is told by a failure of that one.
    for name in _tools_named(words)[:NAMED]:
        for fails in numbers[:2] or [1]:
            kit = Kit(words, f"flaky/{fails}/{name}")
            yield _flaky(kit, fails, KINDS[0], in_runs=False, name=name)


def called_between(words: Words) -> Iterator[Data]:
    """Yield a run in which each tool is called with equal arguments after each other.

    Who remembers what a tool gave, and forgets it when another one has changed
    something, is told by a call of the one, of the other, and of the one again.
    """
    names = _tools_named(words)[:BETWEEN]
    if len(names) < 2:  # nothing comes between
        return
    asked = [names, *(each for name in names for each in ((name,), names))]
    yield _asked_in_turn([[(name, "{}") for name in some] for some in asked], names)


def remembered(words: Words) -> Iterator[Data]:
    """Yield worlds in which a tool is called with one argument more than a number.

    Then with those that a memory of so many would have forgotten, and with those that
    it would not. Which of them it is, the first that came in or the one that was used
    longest ago, is told by that alone.
    """
    numbers = [number for number in words.numbers if 1 < number <= ROUNDS]
    for number in numbers[:KEPT]:
        asked = [*range(number), 0, number, 0, 1, number]
        for name in _tools_named(words)[:NAMED]:
            yield _asked_in_turn([[(name, f'{{"q": {q}}}')] for q in asked], [name])


def later(words: Words) -> Iterator[Data]:
    """Yield worlds in which a number of seconds goes by between two equal calls.

    That many, half a second more, and half of them twice: how long something is
    remembered, whether it is when that time has just gone by, and from when on, is told
    by that alone. Either a tool takes the time within a run, or the answers that end
    the runs do. Each answer of the model takes a second of it.
    """
    names: Sequence[str] = _tools_named(words)[:BETWEEN] if words.times else ()
    numbers = [number for number in words.numbers if 0 < number <= DAY]
    for number in numbers[:COUNTED] if names else []:
        waits = max(0, number - ANSWERED) * 1000
        times = (waits, waits + 500, waits // 2, waits // 2)
        yield _resting(names, times)
        most = next((n for n in words.numbers if 1 < n <= ROUNDS), 0)
        yield _answered_late(names, times, most)


def _resting(names: Sequence[str], times: Sequence[int]) -> Data:
    """Return a run whose tools take so many milliseconds between equal calls.

    They are another one each time: one that is remembered itself takes none.
    """
    rests = {f"rests{at}": each for at, each in enumerate(times)}
    calls, between = ([(name, "{}") for name in some] for some in (names, rests))
    asked = [calls, *(each for rest in between for each in ([rest], calls))]
    tools = [{"name": name, "delay_ms": each} for name, each in rests.items()]
    return _asked_in_turn(asked, names, tools)


def _answered_late(names: Sequence[str], times: Sequence[int], most: int) -> Data:
    """Return runs with equal calls whose answers take so many milliseconds.

    They begin in the middle of such a time: who counts from its first call on and who
    counts days are told apart by that. As many others as may be counted go with each.
    """
    calls = [(name, "{}") for name in names]
    calls += [(names[0], f'{{"n": {at}}}') for at in range(most)]
    made = _asked_in_turn([calls] * (len(times) + 1), names)
    asked: Sequence[Entry] = made["model_script"]
    late = [
        {"chunks": ["assistant:so ", "assistant:late"], "chunk_ms": each}
        for each in (times[-1], *times)
    ]
    script = [late[0], *chain.from_iterable(zip(asked, late[1:], strict=False))]
    runs = [{**run, "streaming": True} for run in made["runs"]] * (len(late) + 1)
    return {**made, "model_script": [*script, asked[-2], DONE], "runs": runs}


def _asked_in_turn(
    asked: Sequence[Sequence[tuple[str, str]]],
    names: Sequence[str],
    more: Sequence[Data] = (),
) -> Data:
    """Return a run in which the model makes these calls, by name and arguments."""
    script = [
        answer("", [ToolCall(f"b{at}-{n}", *call) for n, call in enumerate(calls)])
        for at, calls in enumerate(asked)
    ]
    tools = [{"name": name, "result": "<args>"} for name in names]
    agent: Data = {"tools": [*tools, *more], "max_iterations": len(script) + 1}
    runs = [{"input": list(GO)}]
    return {"agent": agent, "model_script": [*script, DONE], "runs": runs}


def rounds(words: Words) -> Iterator[Data]:
    """Yield worlds in which the model calls a tool once more than a number of a source.

    A limit of steps that is lost, or moved, is told by a longer run alone.
    """
    numbers = [number for number in words.numbers if 1 < number <= ROUNDS]
    name = words.some_names[0]
    for number in sorted(numbers[:COUNTED]):
        calls = (ToolCall(f"r{at}", name, "{}") for at in range(number + 1))
        script = [*(answer("", [each]) for each in calls), DONE]
        agent: Data = {"tools": [{"name": name, "result": "ok"}]}
        yield {"agent": agent, "model_script": script, "runs": [{"input": list(GO)}]}


def of_classes(words: Words) -> Iterator[Data]:
    """Yield worlds in which a tool or the model fails with errors that a subject names.

    Each class as often in a row as the subject's small numbers, and all in turn: who
    tries again after some errors only, or answers others, is told by that alone. Who
    does so for some tools only is told by one that the subject names.
    """
    numbers = [n for n in words.some_numbers if 1 <= n <= FLAKY]
    often = sorted({times for n in numbers[:COUNTED] for times in (n, n + 1)})
    rows = [(error,) * often[-1] for error in words.errors[:CLASSES]]
    rows += [(*words.errors[:CLASSES], "boom")] if rows else []
    for at, row in enumerate(rows):
        for kind in KINDS[:2]:
            kit = Kit(words, f"classes/{at}/{kind}")
            yield _flaky(kit, len(row), kind, in_runs=False, errors=row)
        for own in dict.fromkeys((*words.names[:1], *words.names[at : at + 1])):
            kit = Kit(words, f"classes/{at}/{own}")
            yield _flaky(kit, len(row), KINDS[0], in_runs=False, errors=row, name=own)
        for times in often:
            failing = [{"error": error} for error in row[:times]]
            runs = [{"input": list(GO)}] * 2
            yield {"agent": {}, "model_script": [*failing, DONE] * 2, "runs": runs}


def _tools_named(words: Words) -> Sequence[str]:
    """Return the names of a source that its tools may have."""
    return [name for name in words.names if name not in KEYS]


def _flaky(
    kit: Kit,
    fails: int,
    kind: str,
    *,
    in_runs: bool,
    errors: Sequence[str] = ("boom",),
    name: str = "",
) -> Data:
    calls = 3 * (fails + 1)
    failing = [nth for nth in range(1, calls + 1) if nth % (fails + 1)]
    body = [
        {"op": "error", "text": errors[at % len(errors)], "on_call": nth}
        for at, nth in enumerate(failing)
    ]
    name = name or kit.fresh()
    tool = {"name": name, "kind": kind, "result": "ok", "body": body}
    requests = [answer("", [kit.call(name)]) for _ in range(calls)]
    script = [*requests, DONE]
    runs = [{"input": list(GO)}]
    if in_runs:
        script = [each for ask in requests for each in (ask, DONE)]
        runs = runs * calls
    agent: Data = {"tools": [tool], "max_iterations": calls + 1}
    return {"agent": agent, "model_script": script, "runs": runs}


def neighbours(kit: Kit) -> Data:
    """Return neighbours that append, edit and put down on both sides of the subject."""
    names = some_names(kit, 3)
    before = kit.dice.pick(_EDITS)(kit)
    text = encoded(kit.text())
    agent: Data = {"tools": [kit.tool(name) for name in names]}
    agent["middlewares"] = [
        {
            "id": "before",
            "additional_instruction": text if kit.dice.chance(3) else "",
            "before_chat_model": [{"op": "record"}, before],
            "after_chat_model": [{"op": "record"}],
            "wrap_tool_call": {
                kind: _wrap(kit) for kind in ("invokable", "streamable")
            },
        }
    ]
    after: Data = {
        "id": "after",
        "before_model": [{"op": "record"}, kit.dice.pick(_EDITS)(kit)],
        "wrap_model": kit.dice.pick(({"record": "m"}, {"prefix_user_input": "p "})),
        "wrap_invokable": _wrap(kit),
        "wrap_streamable": _wrap(kit),
    }
    agent["handlers"] = [after, watcher(kit)]
    return world(kit, agent, calling(kit, names, 1 + kit.dice.below(2)))


def _failure(kit: Kit, entry: Entry, where: str) -> Entry:
    if where == "model":
        return {"error": "no-model"}
    chunks = (
        entry["chunks"] if isinstance(entry, dict) else kit.chunked("so far")["chunks"]
    )
    return {"chunks": chunks, "stream_error": "cut off"}


def _fail_at_tools(kit: Kit, agent: Data, kind: str, name: str) -> None:
    """Let a wrapper fail when it is made: for all tools, or for one."""
    fails: Data = {"factory_error": "no wrapper"}
    wrap: Data = fails if kit.dice.chance(2) else {"by_tool": {name: fails}}
    if kit.dice.chance(2):
        agent["middlewares"] = [{"id": "fails", "wrap_tool_call": {kind: fails}}]
    else:
        agent["handlers"] = [{"id": "fails", f"wrap_{kind}": wrap}]


def _wrap(kit: Kit) -> Data:
    some: tuple[Data, ...] = (
        {"record": "w"},
        {"rewrite_args": kit.call("t").arguments},
        {"prefix_result": "> "},
        {"set_result": encoded(kit.text())},
        {"short_circuit": encoded(kit.text())},
        {"set_input_name": kit.name()},
        {"catch_error": "caught <error>"},
        {"call_next": 2},
    )
    return kit.dice.pick(some)


def _appended(kit: Kit) -> Data:
    return {"op": "append", "msg": kit.message()}


def _prepended(kit: Kit) -> Data:
    return {"op": "prepend", "msg": f"system:{encoded(kit.text())}"}


def _kept(kit: Kit) -> Data:
    return {"op": "keep_last", "n": max(1, kit.length(20))}


def _recorded(_: Kit) -> Data:
    return {"op": "record"}


_EDITS: Final[tuple[Callable[[Kit], Data], ...]] = (
    _appended,
    _prepended,
    _kept,
    _recorded,
)


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
) -> Mapping[str, list[list[WordTurn]]]:
    """Deal the turns that use up the words to the worlds of their families."""
    turns = WordTurns(Kit(words, f"{seed}/turns"))
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


def of_turns(kit: Kit, turns: Sequence[WordTurn], at: int | None) -> Data:
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
