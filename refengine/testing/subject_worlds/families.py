"""Families of worlds: each is one way in which an agent's life may go.

The happy path hides most divergences (verdicts, Worlds and corpora), so every corpus
has worlds of every family. They are made by dice, in the subject's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import encoded, parse_message
from refengine.testing.subject_worlds.kit import (
    HISTORY,
    LONGEST,
    UNUSUAL,
    Data,
    Entry,
    Kit,
    again,
    answer,
    long_text,
)

Family = Callable[[Kit], Data]

ABSENT: Final = "no-such-tool"
UNICODE: Final = (
    "🦜 parrot 👩‍👩‍👧",
    "e\u0301cole naïve",
    "שלום עולם",
    "مرحبا",
    "\u202eabc\u202c",
    "lone \ud83d end",
    "\ude00",
    "İıßſ ŒÆ",
    "検索\u3000結果",
    "nul\x00 tab\t vt\x0b",
    "\u2028line\u2029",
    "٣٤ ½ Ⅷ",
)


def happy(kit: Kit) -> Data:
    """Return a short chat without a call; the subject's tools may be there."""
    tools = [kit.tool(kit.name()) for _ in range(kit.dice.below(3))]
    return world(kit, {"tools": tools}, [kit.said(kit.text())], [kit.user()])


def tools(kit: Kit) -> Data:
    """Return two or more iterations with parallel calls of tools that are there."""
    names = some_names(kit, 4)
    given = [kit.tool(name) for name in names]
    return world(kit, {"tools": given}, calling(kit, names, 2 + kit.dice.below(3)))


def equal_names(kit: Kit) -> Data:
    """Return tools of which several have one name, and a neighbour who adds another."""
    name = kit.name()
    given = [kit.tool(name), kit.tool(kit.name()), kit.tool(name, result="second")]
    agent: Data = {"tools": given}
    if kit.dice.chance(2):
        agent["middlewares"] = [{"additional_tools": [kit.tool(name, result="third")]}]
    if kit.dice.chance(2):
        more: Data = {"op": "append_tools", "tools": [kit.tool(name, result="fourth")]}
        agent["handlers"] = [{"id": "adds", "before_agent": [more]}]
    return world(kit, agent, calling(kit, [name], 2))


def long_history(kit: Kit) -> Data:
    """Return a long history with all that stands in histories of real sessions."""
    names = some_names(kit, 3)
    length = max(8, kit.length(HISTORY))
    past: list[str] = []
    while len(past) < length:
        past += kit.dice.pick(PAST)(kit)
    given = [kit.tool(name) for name in names]
    script = calling(kit, names, kit.dice.below(3))
    past = past[-length:]
    if not kit.dice.chance(UNUSUAL):
        past = _as_applications_have_it(past, kit)
    return world(kit, {"tools": given}, script, past)


def _as_applications_have_it(past: Sequence[str], kit: Kit) -> list[str]:
    """Return a history in which results have calls, and which ends with the user."""
    called: set[str | None] = set()
    kept: list[str] = []
    for text in past[:-1]:
        message = parse_message(text)
        if message.role != "tool" or message.tool_call_id in called:
            kept.append(text)
        called |= {call.id for call in message.tool_calls}
    return [*kept, kit.user()]


def thread(kit: Kit) -> Data:
    """Return two or three turns, each of which continues the one before."""
    names = some_names(kit, 2)
    agent: Data = {"tools": [kit.tool(name) for name in names]}
    turns = [
        calling(kit, names, kit.dice.below(3)) for _ in range(2 + kit.dice.below(2))
    ]
    made = world(kit, agent, [entry for turn in turns for entry in turn])
    runs = [run(kit, [kit.user()], continues=at > 0) for at in range(len(turns))]
    return {**made, "runs": runs}


def streaming(kit: Kit) -> Data:
    """Return a streamed run with chunks cut anywhere, and the calls in the last."""
    names = some_names(kit, 3)
    given = [
        kit.tool(name, kind=kit.dice.pick(("streamable", "both"))) for name in names
    ]
    script: list[Entry] = [
        kit.chunked(kit.text(), kit.calls(many(kit, names))),
        kit.chunked(kit.text(), kit.calls(names[:1])),
        kit.chunked(kit.text()),
    ]
    made = world(kit, {"tools": given}, script)
    return {**made, "runs": [{**each, "streaming": True} for each in made["runs"]]}


def removed(kit: Kit) -> Data:
    """Return calls of tools that are not there, or that a neighbour removes."""
    names = some_names(kit, 3)
    agent: Data = {"tools": [kit.tool(name) for name in names[1:]]}
    if kit.dice.chance(2):
        agent["tools"].insert(0, kit.tool(names[0]))
        gone = {"op": "remove_tool", "name": names[0]}
        agent["handlers"] = [{"id": "removes", "before_agent": [gone]}]
    if kit.dice.chance(2):
        agent["unknown_tools_handler"] = encoded(f"no <name>: {kit.text()}")
    called = [*names, ABSENT] if kit.dice.chance(3) else names
    return world(kit, agent, calling(kit, called, 2))


def direct(kit: Kit) -> Data:
    """Return tools whose results are, or are not, the answer of the run."""
    names = some_names(kit, 3)
    flags = {name: not kit.dice.chance(3) for name in names}
    agent: Data = {
        "tools": [kit.tool(name) for name in names],
        "return_directly": flags if kit.dice.chance(2) else {names[0]: True},
    }
    return world(kit, agent, calling(kit, names, 2))


def limits(kit: Kit) -> Data:
    """Return calls without an end, and a low limit of iterations."""
    names = some_names(kit, 2)
    agent: Data = {
        "tools": [kit.tool(name) for name in names],
        "max_iterations": 1 + kit.dice.below(3),
    }
    if kit.dice.chance(UNUSUAL):
        script = calling(kit, names, 4)[:-1]
        return {**world(kit, agent, script), "script_end": "repeat_last"}
    return world(kit, agent, calling(kit, names, 9)[:-1])


def instruction(kit: Kit) -> Data:
    """Return an instruction: none, empty, very long, with the subject's words."""
    some = ("", " ", long_text(kit.length(LONGEST)), "be brief, " * 400, kit.text())
    name = kit.name()
    agent: Data = {"tools": [kit.tool(name)], "middlewares": []}
    agent["instruction"] = encoded(kit.dice.pick(some))
    if kit.dice.chance(2):
        agent["middlewares"] = [{"additional_instruction": encoded(kit.text())}]
    if kit.dice.chance(2):
        more: Data = {"op": "append_instruction", "sep": "\n", "text": "after"}
        agent["handlers"] = [{"id": "adds", "before_agent": [more, {"op": "record"}]}]
    said = [f"system:{encoded(kit.text())}", "user:hi"][kit.dice.below(2) :]
    if kit.dice.chance(UNUSUAL):
        said.reverse()
    return world(kit, agent, calling(kit, [name], 1), said)


def unicode(kit: Kit) -> Data:
    """Return texts that are more than one letter after the other, in every place."""
    text = kit.dice.pick(UNICODE)
    name = kit.name()
    mixed = (text, f"{text}{kit.text()}", f"{kit.text()}{text}")
    user, given, result, last = (kit.dice.pick(mixed) for _ in range(4))
    chunks = list(map(encoded, kit.cut(result)))
    tool = kit.tool(name, result=encoded(result), chunks=chunks)
    calls = [kit.call(name, given), kit.call(name, f'{{"q":"{encoded(text)}"}}')]
    agent: Data = {"tools": [tool], "instruction": encoded(kit.dice.pick(("", text)))}
    entries: list[Entry] = [answer(text, calls), kit.said(last)]
    return world(kit, agent, entries, [f"user:{encoded(user)}"])


FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {
        "happy": happy,
        "tools": tools,
        "equal names": equal_names,
        "long history": long_history,
        "thread": thread,
        "streaming": streaming,
        "removed": removed,
        "direct": direct,
        "limits": limits,
        "instruction": instruction,
        "unicode": unicode,
    }
)
"""Those without neighbours that fail or edit; ``worlds`` has the others."""


def world(
    kit: Kit,
    agent: Data,
    script: Sequence[Entry],
    given: Sequence[str] | None = None,
) -> Data:
    """Return a scenario of one agent and one or two runs of the same input."""
    if "instruction" not in agent:
        agent["instruction"] = kit.instruction()
    if kit.dice.chance(4):
        agent["sequential"] = True
    if kit.dice.chance(4):  # who watches sees what the subject leaves
        agent.setdefault("handlers", []).append(watcher(kit))
    first = run(kit, [kit.user()] if given is None else given)
    later = [run(kit, [kit.user()])] if kit.dice.chance(3) else []
    runs = [first, *later]
    entries = list(script) * len(runs)
    if not kit.dice.chance(UNUSUAL):
        seen = {c.id for text in first["input"] for c in parse_message(text).tool_calls}
        entries = again(entries, seen)
    return {"agent": agent, "model_script": entries, "runs": runs}


def run(kit: Kit, given: Sequence[str], *, continues: bool = False) -> Data:
    """Return a run, streamed or not."""
    made: Data = {"input": list(given), "streaming": kit.dice.chance(2)}
    return {**made, "continues": True} if continues else made


def watcher(kit: Kit) -> Data:
    """Return a handler that puts down what it sees in a few of its hooks."""
    hooks: Data = {
        "before_agent": [{"op": "record"}],
        "before_model": [{"op": "record"}],
        "after_model": [{"op": "record"}],
        "after_agent": [{"op": "record"}],
        "wrap_model": {"record": "w"},
        "wrap_invokable": {"record": "w"},
        "wrap_streamable": {"record": "w"},
    }
    some = kit.dice.shuffled(list(hooks))[: 1 + kit.dice.below(3)]
    return {"id": "watches", **{hook: hooks[hook] for hook in some}}


def some_names(kit: Kit, most: int) -> list[str]:
    """Return up to so many different names of the subject's."""
    return kit.dice.shuffled(kit.words.some_names)[:most]


def many(kit: Kit, names: Sequence[str]) -> list[str]:
    """Return one to three names to call at once, equal ones among them."""
    return [kit.dice.pick(names) for _ in range(1 + kit.dice.below(3))]


def calling(kit: Kit, names: Sequence[str], times: int) -> list[Entry]:
    """Return answers that call tools so many times, and a last one."""
    texts = ("", "", kit.text())
    said = [
        kit.said(kit.dice.pick(texts), kit.calls(many(kit, names)))
        for _ in range(times)
    ]
    return [*said, kit.said(kit.text())]


def _exchange(kit: Kit) -> list[str]:
    return [kit.user(), answer(kit.text())]


def _called(kit: Kit) -> list[str]:
    calls = kit.calls(many(kit, kit.words.some_names))
    return [answer(kit.text(), calls), *(_result(kit, call) for call in calls)]


def _dangling(kit: Kit) -> list[str]:
    return [answer("", kit.calls(many(kit, kit.words.some_names)))]


def _orphan(kit: Kit) -> list[str]:
    return [_result(kit, kit.call("none"))]


def _system(kit: Kit) -> list[str]:
    return [f"system:{encoded(kit.text())}"]


def _result(kit: Kit, call: ToolCall) -> str:
    return f"tool({call.id}):{encoded(kit.text())}"


PAST: Final = (_exchange, _exchange, _called, _called, _dangling, _orphan, _system)
"""What histories are made of."""
