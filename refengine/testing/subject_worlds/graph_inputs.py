"""What graphs are given that everyday worlds do not hold: calls and errors of a kind.

Arguments that a tool refuses, the same call written otherwise, errors of several
classes one after the other, loops that use up the steps, texts with decomposed letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import encoded
from refengine.testing.subject_worlds.declared import (
    DeclaredTool,
    declared_worlds,
    with_schemas,
)
from refengine.testing.subject_worlds.kit import (
    Data,
    Kit,
    answer,
    fixed_world,
    json_text,
)
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.words import Words

LOOPS: Final = 20
"""No loop of tool calls is made longer to reach a number."""
EQUAL_IDS: Final = "equal ids"
"""The family whose calls keep their ids; within one thread the frameworks disagree."""
STEPS: Final = (7, 13, 25)
"""Steps that a caller allows, where a source counts them.

Of an even number the older agent has one left when it comes to its model, and says that
it needs more; the newer one raises an error, whatever a port does.
"""
LIMITS: Final = range(2, 13)
"""Steps that a caller allows where it is asked which number suffices."""
MIXED: Final = ("TimeoutError", "ConnectionError", "ValueError", "RuntimeError")
"""Errors of different classes, if a source names fewer."""
TOGETHER: Final = 12
"""So many single words of a subject's stand in one text."""
RUNS: Final = 8
TALKED_ON: Final = "talks"
"""The family whose turns hold what a subject gathers, and are given no more of it."""
TALKS: Final = 3
"""So many numbers of the subject's are outlasted by a session,"""
TALKED: Final = 10
"""which has so many turns at most,"""
AGAIN: Final = 3
"""the last few of which ask again what was asked before."""
SCHEMAS: Final = 2
"""So many of the subject's names are tools that refuse arguments."""
STARTS: Final = 3
"""With so many of the classes a row of all of them begins, one after the other."""
ACCENTS: Final = ("cafe\u0301", "e\u0301cole n\u0303", "A\u030angstro\u0308m")


def inputs(words: Words, more: GraphWords) -> Iterator[tuple[str, Data]]:
    """Yield all of these worlds, with their families."""
    yield from _loops(words)
    yield from _failing(words, more)
    tools = {each.name: each for each in _refusing(words)}
    for family, made in declared_worlds(list(tools.values()), words):
        yield family, with_schemas(made, tools, calls=False)
    yield from _together(words)
    yield from _decomposed(words)
    yield from _talks(words)
    yield EQUAL_IDS, fixed_world(EQUAL_IDS, name=words.some_names)
    if more.counts:
        yield from _counted(words)
    if more.limits:
        yield from _limited(words)


def _refusing(words: Words) -> Iterator[DeclaredTool]:
    """Yield tools of the subject's names that ask for arguments of certain types."""
    names = words.some_names
    for at, name in enumerate(names[:SCHEMAS]):
        fields: Data = {
            "q": {"type": "string"},
            "n": {"type": "integer"},
            names[at - 1]: {"type": "string"},
        }
        schema = {"type": "object", "properties": fields, "required": ["q"]}
        yield DeclaredTool(name, parameters=schema)


def _together(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield texts in which several of the subject's words stand together.

    Who looks documents up by words, and takes the first few of them, meets more of them
    in one text than it takes; so does who counts what it finds.
    """
    single = [text for text in words.some_texts if text.split() == [text]][:TOGETHER]
    groups = [single, *(single[at : at + 3] for at in range(0, len(single), 2))]
    said = [" ".join(each) for each in groups if len(each) > 1]
    said += [" ".join([each] * 4) for each in single[:3]]
    name = words.some_names[0]
    for start in range(0, len(said), RUNS):
        script: list[object] = []
        runs: list[Data] = []
        for at, text in enumerate(said[start : start + RUNS]):
            call = ToolCall(f"w{at}", name, json_text({"q": text}))
            script += [answer("", [call]), answer(text)]
            runs.append({"input": [f"user:{encoded(text)}"], "streaming": at % 4 == 3})
        agent: Data = {"tools": [{"name": name, "result": "<args>"}]}
        yield "together", {"agent": agent, "model_script": script, "runs": runs}


def _decomposed(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield texts whose letters are written in one piece, and in two.

    They look the same, and differ in length and for who compares them.
    """
    accented = [text for text in words.some_texts if not text.isascii()][:3]
    for number, text in enumerate([*accented, *ACCENTS]):
        both = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
        name = words.some_names[number % len(words.some_names)]
        script: list[object] = []
        for at, each in enumerate(both):
            call = ToolCall(f"d{number}-{at}", name, json_text({"q": each, name: each}))
            script += [answer(each, [call]), answer(each)]
        runs = [{"input": [f"user:{encoded(each)}"]} for each in both]
        agent: Data = {"tools": [{"name": name, "result": "<args>"}]}
        yield "unicode", {"agent": agent, "model_script": script, "runs": runs}


def _talks(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield sessions with more turns than a number of the subject's, and old topics.

    Who keeps the last few of something has to forget some of it. Which, shows where
    what came last, first and second comes again behind all that is kept.
    """
    some = (number for number in words.numbers if 1 < number < TALKED - AGAIN)
    name = words.some_names[0]
    for most in [*dict.fromkeys(some)][:TALKS]:
        topics = [f"topic {at}" for at in range(most + 1)]
        said = [*topics, topics[-1], topics[0], topics[1]]
        runs: list[Data] = [
            {"input": [f"user:{each}"], **({"continues": True} if at else {})}
            for at, each in enumerate(said)
        ]
        plain = [f"assistant:about {each}" for each in said]
        yield TALKED_ON, {"agent": {}, "model_script": plain, "runs": runs}
        called: list[object] = []
        for at, each in enumerate(said):
            asks = [ToolCall(f"k{at}", name, json_text({"q": each}))]
            called += (answer("", asks), "assistant:done")
        agent: Data = {"tools": [{"name": name, "result": "<args>"}]}
        yield TALKED_ON, {"agent": agent, "model_script": called, "runs": runs}


def _counted(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield loops that go on longer than the steps that a caller allows."""
    name = words.some_names[0]
    for steps in STEPS:
        script: list[object] = [
            answer("", [ToolCall(f"s{at}", name, "{}")]) for at in range(steps)
        ]
        run = {"input": ["user:go"], "steps": steps}
        agent: Data = {"tools": [{"name": name, "result": "<args>"}]}
        yield "steps", {"agent": agent, "model_script": script, "runs": [run]}


def _limited(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield an answer, and a call before it, within each small number of steps."""
    name = words.some_names[0]
    agent: Data = {"tools": [{"name": name, "result": "<args>"}]}
    for steps in LIMITS:
        for calls in (0, 1):
            script: list[object] = [answer("", [ToolCall("s0", name, "{}")])] * calls
            run = {"input": ["user:go"], "steps": steps}
            made = {"agent": agent, "model_script": [*script, answer("done")]}
            yield "limits", {**made, "runs": [run]}


def _loops(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield loops as long as the numbers of a subject, and as many calls at once."""
    numbers = [number for number in words.some_numbers if number < LOOPS]
    for times in sorted({n + d for n in numbers for d in (0, 1, 2)}):
        kit = Kit(words, f"loop/{times}")
        name = kit.words.some_names[0]
        tools = [
            {"name": each, "result": "<args>"} for each in kit.words.some_names[:3]
        ]
        row: list[object] = [answer("", [kit.call(name, "{}")]) for _ in range(times)]
        once: list[object] = [answer("", [kit.call(name, "{}") for _ in range(times)])]
        for script in (row, once):
            yield (
                "loops",
                {
                    "agent": {"tools": tools},
                    "model_script": [
                        *script,
                        "assistant:done",
                        *script,
                        "assistant:end",
                    ],
                    "runs": [
                        {"input": ["user:go"]},
                        {"input": ["user:on"], "continues": True},
                    ],
                },
            )


def _failing(words: Words, more: GraphWords) -> Iterator[tuple[str, Data]]:
    """Yield models and tools that fail so often, with errors that a subject names.

    Each with one class of error throughout, and with all of them in turn: who tries
    again after some errors only, or tells which was the last, is seen by the mixture.
    """
    numbers = sorted({1, 2, *(n for n in words.some_numbers if 0 < n <= 5)})
    often = sorted({n + d for n in numbers for d in (0, 1)})
    for error in ("boom", *more.errors):
        for times in often:
            yield from _failures(words, [error] * times)
        yield from _failing_on(words, error, often[-1])
    # Two that are tried as often fail one after the other: a model, and its stand-in.
    for times in (2 * numbers[-1], 2 * numbers[-1] + 2):
        for error in (*more.errors[:2], "boom"):
            yield from _failures(words, [error] * times)
    every = list(dict.fromkeys([*more.errors, *MIXED]))
    starts = min(len(every), STARTS)
    if more.adk:  # a run of it ends with the first error, unless the subject's own code
        starts, often = 1, often[-2:]  # goes on, as no retry of the framework's does
    for start in range(starts):
        for times in often:
            if times > 1:
                turned = cycle([*every[start:], "boom", *every[:start]])
                yield from _failures(words, list(islice(turned, times)))


def _failures(words: Words, errors: Sequence[str]) -> Iterator[tuple[str, Data]]:
    failures: list[object] = [{"error": error} for error in errors]
    yield "failures", _asking([*failures, "assistant:done"], {})
    body = [
        {"op": "error", "text": error, "on_call": at + 1}
        for at, error in enumerate(errors)
    ]
    kit = Kit(words, f"failing/{len(errors)}")
    name = kit.words.some_names[0]
    call = answer("", [kit.call(name, "{}")])
    tool: Data = {"name": name, "result": "<args>", "body": body}
    yield "failures", _asking([call, "assistant:done"], {"tools": [tool]})


def _failing_on(words: Words, error: str, times: int) -> Iterator[tuple[str, Data]]:
    """Yield a thread with a failure in each of its turns, and one turn more.

    What was made of a failure stands in the requests after it, and may be counted.
    """
    go = {"input": ["user:go"]}
    runs = [go, *[{**go, "continues": True}] * times]
    fails = [{"error": error}] * times
    yield (
        "failures",
        {"agent": {}, "model_script": [*fails, "assistant:done"], "runs": runs},
    )
    kit = Kit(words, f"failing on/{times}")
    name = kit.words.some_names[0]
    body = [
        {"op": "error", "text": error, "on_call": nth} for nth in range(1, times + 1)
    ]
    tool: Data = {"name": name, "result": "<args>", "body": body}
    turn = [answer("", [kit.call(name, "{}")]) for _ in runs]
    script = [text for each in turn for text in (each, "assistant:done")]
    yield "failures", {"agent": {"tools": [tool]}, "model_script": script, "runs": runs}


def _asking(script: Sequence[object], agent: Data) -> Data:
    """Return a world of two runs, the second of which asks once more."""
    run = {"input": ["user:go"]}
    return {"agent": agent, "model_script": [*script, *script], "runs": [run, run]}


# Calls of each tool with each number, or a text, under every name of the subject's. Who
# asks a person about more than 100 reads a number out of the arguments of some tools.
# Which name is the tool's and which the argument's is not told by the source, so each
# call has all of them. Who hides a password looks for its key in what was given, and
# may forget that it can stand further in.


ARGUED: Final = 12
AT_ONCE: Final = 6
"""So many names and numbers are put together, in so many calls of one answer."""
TURNS: Final = 8


def argued(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which calls hold the subject's numbers, and the ones after."""
    names = words.names[:ARGUED]
    largest = sorted(words.numbers, reverse=True)
    numbers = [*dict.fromkeys(n + d for n in largest for d in (1, 0))][:ARGUED]
    asked: list[str] = []
    for at, number in enumerate(numbers):
        given = json_text(dict.fromkeys(names, number))
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            calls = [ToolCall(f"n{at}-{name}", name, given) for name in some]
            asked.append(answer("", calls))
    tools = [{"name": name, "result": "ok"} for name in names]
    for start in range(0, len(asked), TURNS):
        part = asked[start : start + TURNS]
        script = [text for each in part for text in (each, "assistant:done")]
        runs = [{"input": ["user:go"]} for _ in part]
        agent: Data = {"tools": tools}
        yield "arguments", {"agent": agent, "model_script": script, "runs": runs}


def nested(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield a world in which the names are keys within objects, and within lists."""
    names = words.names[:ARGUED]
    if not names:
        return
    inner = {name: f"v{at}" for at, name in enumerate(names)}
    given = [inner, {"a": inner}, {"a": [inner, "b"]}, {"a": {"b": [inner]}}]
    calls = [ToolCall(f"d{at}", names[0], json_text(g)) for at, g in enumerate(given)]
    script = [text for call in calls for text in (answer("", [call]), "assistant:done")]
    agent: Data = {"tools": [{"name": names[0], "result": "<args>"}]}
    runs = [{"input": ["user:go"]} for _ in calls]
    yield "arguments", {"agent": agent, "model_script": script, "runs": runs}


def alike(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield calls that say the same in other words: keys reordered, 1 and 1.0.

    Who remembers a call by how it is written takes them for different ones.
    """
    for at, name in enumerate(words.some_names[:3]):
        yield "alike", fixed_world("alike", name=[name], at=[str(at)])
