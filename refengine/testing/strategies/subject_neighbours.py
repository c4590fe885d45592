"""Families with neighbours: extensions around the subject that fail, edit and watch.

Struct middlewares of the world stand before the subject, handlers after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from refengine.testing.notation import encoded
from refengine.testing.strategies.subject_families import (
    calling,
    some_names,
    watcher,
    world,
)
from refengine.testing.strategies.subject_kit import (
    HISTORY,
    KINDS,
    Data,
    Entry,
    Kit,
    answer,
)
from refengine.testing.strategies.subject_turns import DONE, GO
from refengine.testing.strategies.subject_words import Words

FLAKY: Final = 6
"""So often in a row a flaky tool fails at most."""
COUNTED: Final = 4
"""For so many of the subject's numbers a tool fails as often."""
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


def _flaky(kit: Kit, fails: int, kind: str, *, in_runs: bool) -> Data:
    calls = 3 * (fails + 1)
    failing = [nth for nth in range(1, calls + 1) if nth % (fails + 1)]
    body = [{"op": "error", "text": "boom", "on_call": nth} for nth in failing]
    name = kit.fresh()
    tool = {"name": name, "kind": kind, "result": "ok", "body": body}
    asked = [answer("", [kit.call(name)]) for _ in range(calls)]
    script = [*asked, DONE]
    runs = [{"input": list(GO)}]
    if in_runs:
        script = [each for ask in asked for each in (ask, DONE)]
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
FAMILIES: Final[Mapping[str, Callable[[Kit], Data]]] = MappingProxyType(
    {"neighbours": neighbours}
)
