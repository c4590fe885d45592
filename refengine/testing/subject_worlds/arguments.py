"""Calls of each tool with each number, or a text, under every name of the subject's.

Who asks a person about more than 100 reads a number out of the arguments of some tools.
Which name is the tool's and which the argument's is not told by the source, so each
call has all of them. Who hides a password looks for its key in what was given, and may
forget that it can stand further in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.subject_worlds.kit import Data, answer, fixed_world, json_text
from refengine.testing.subject_worlds.words import Words

MOST: Final = 12
AT_ONCE: Final = 6
"""So many names and numbers are put together, in so many calls of one answer."""
RUNS: Final = 8


def argued(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which calls hold the subject's numbers, and the ones after."""
    names = words.names[:MOST]
    largest = sorted(words.numbers, reverse=True)
    numbers = [*dict.fromkeys(n + d for n in largest for d in (1, 0))][:MOST]
    asked: list[str] = []
    for at, number in enumerate(numbers):
        given = json_text(dict.fromkeys(names, number))
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            calls = [ToolCall(f"n{at}-{name}", name, given) for name in some]
            asked.append(answer("", calls))
    tools = [{"name": name, "result": "ok"} for name in names]
    for start in range(0, len(asked), RUNS):
        part = asked[start : start + RUNS]
        script = [text for each in part for text in (each, "assistant:done")]
        runs = [{"input": ["user:go"]} for _ in part]
        agent: Data = {"tools": tools}
        yield "arguments", {"agent": agent, "model_script": script, "runs": runs}


def nested(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield a world in which the names are keys within objects, and within lists."""
    names = words.names[:MOST]
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
