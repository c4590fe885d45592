"""Worlds for agents of ADK: sessions with state, transfers, confirmations.

They are worlds of graphs as far as a session of ADK can have them: what was said before
is said by the user and the agent, the last word is the user's, and a call of a tool of
the framework's own name is one of the framework's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import encoded, parse_message, show_message
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.graph_inputs import EQUAL_IDS
from refengine.testing.subject_worlds.graph_worlds import (
    RUNS,
    fitted,
    graph_given,
    graph_worlds,
)
from refengine.testing.subject_worlds.kit import (
    Data,
    answer,
    fit,
    fixed_world,
    json_text,
)
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.part_worlds import part_worlds
from refengine.testing.subject_worlds.words import Words

FRAMEWORK: Final = frozenset(
    (
        "transfer_to_agent",
        "set_model_response",
        "exit_loop",
        "adk_request_confirmation",
        "adk_request_credential",
        "adk_request_input",
    )
)
"""Names of tools that are the framework's own."""
TRANSFER: Final = "transfer_to_agent"
OTHER: Final = "other"
"""A tool of the world's, where a source names none."""
AGENTS: Final = 6
"""Transfers go to so many agents by name."""
LATEST: Final = 6
PLAIN: Final = 2
"""So many texts are given back by tools as they are."""
GO: Final = "user:go"
FAILURES: Final = "failures"
FAILING: Final = frozenset(("error", "stream_error", "body"))
"""What entries of a script have that fail, and tools."""


def adk_worlds(
    words: Words, more: GraphWords, worlds: Iterable[tuple[str, object]], seed: int
) -> Iterator[tuple[str, Data]]:
    """Yield worlds for agents of ADK, no two the same: these as they fit, and more."""
    failing = (each for each in worlds if _is_told(*each))
    every = chain(part_worlds(words), adk_inputs(words, more), failing)
    return _each_once(graph_worlds(words, more, every, seed))


def _is_told(family: str, world: object) -> bool:
    """Tell whether a world has what its family is about, as agents of ADK may have it.

    Where extensions of our own engine fail, there is no failure left without them.
    """
    if family != FAILURES:
        return True
    made = fitted(world)
    entries = (*made.get("model_script", ()), *made["agent"].get("tools", ()))
    return any(is_mapping(each) and not FAILING.isdisjoint(each) for each in entries)


def adk_given(
    given: Iterable[tuple[str, Data]], more: GraphWords, seed: int
) -> Iterator[tuple[str, Data]]:
    """Yield a user's own worlds as agents of ADK may have them."""
    return _each_once(graph_given(given, more, seed), most=None)


def _each_once(
    worlds: Iterable[tuple[str, Data]], most: int | None = RUNS
) -> Iterator[tuple[str, Data]]:
    seen: set[str] = set()
    for family, world in worlds:
        made = adk_fitted(world, most, own_ids=family != EQUAL_IDS)
        key = json.dumps(made, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield family, made


def adk_fitted(world: object, most: int | None = RUNS, *, own_ids: bool = True) -> Data:
    """Return a world, as JSON, as far as agents of ADK may have it."""
    made = fitted(world, most, own_ids=own_ids)
    made.pop("way", None)
    agent = made["agent"]
    tools = [t for t in agent.get("tools", ()) if t["name"] not in FRAMEWORK]
    if "tools" in agent:
        agent["tools"] = tools
        if not tools:
            del agent["tools"]
    runs: Sequence[Data] = made.get("runs") or ()
    for at, run in enumerate(runs):
        run.pop("doors", None)
        if at == 0:
            run.pop("continues", None)
        run["input"] = _said(run.get("input", ()))
    return made


def _later(words: Words) -> Sequence[int]:
    """Return after how many answers there is a transfer: after what may be counted."""
    return [n for n in words.numbers if 0 < n <= LATEST][:2] or [1]


def _transferred_between(name: str, tool: str, most: int) -> Data:
    """Return a run in which a tool is called so often, some of it behind a transfer.

    What counts for a whole run goes on there, and what belongs to one agent begins.
    """
    asked = [ToolCall(f"before{at}", tool, "{}") for at in range(max(1, most - 1))]
    asked.append(ToolCall("over", TRANSFER, json_text({"agent_name": name})))
    asked += [ToolCall(f"behind{at}", tool, "{}") for at in range(max(2, most))]
    script = [*(answer("", [each]) for each in asked), "assistant:done"]
    agent: Data = {"tools": [{"name": tool, "result": "<args>"}]}
    return {"agent": agent, "model_script": script, "runs": [{"input": [GO]}]}


def _transferred_later(name: str, most: int) -> Data:
    """Return a session with so many answers, then a transfer, and one turn more.

    What was counted or kept of the one agent does not concern the other one.
    """
    call = ToolCall("later", TRANSFER, json_text({"agent_name": name}))
    plain = [f"assistant:answer {at}" for at in range(most)]
    script = [*plain, answer("", [call]), "assistant:there", "assistant:still there"]
    runs: list[Data] = [
        {"input": ["user:go"], **({"continues": True} if at else {})}
        for at in range(most + 2)
    ]
    return {"agent": {}, "model_script": script, "runs": runs}


def _plain_result(name: str, text: str) -> Data:
    """Return a thread in which a tool returns a text each time, and no object.

    A hook after the tool is handed it as it is, whatever its annotations say.
    """
    turn = [answer("", [ToolCall("plain", name, "{}")]), "assistant:done"]
    runs: list[Data] = [{"input": [GO]}, {"input": [GO], "continues": True}]
    agent: Data = {"tools": [{"name": name, "result": encoded(json_text(text))}]}
    return {"agent": agent, "model_script": turn * 2, "runs": runs}


def _said(texts: Sequence[str]) -> list[str]:
    """Return what was said, without systems, tools and calls; the user is the last."""
    found: list[str] = []
    for text in texts:
        message = parse_message(text)
        if message.role not in {"user", "assistant"} or message.tool_calls:
            continue
        found.append(show_message(message))
    if not found or parse_message(found[-1]).role != "user":
        found.append(GO)
    return found


def fits_adk(world: Scenario) -> bool:
    """Tell whether agents of ADK may have a world, after it was made smaller."""
    data = world.model_dump(mode="json", exclude_defaults=True)
    return bool(world.runs) and adk_fitted(data, most=None) == data


def adk_inputs(words: Words, more: GraphWords) -> Iterator[tuple[str, Data]]:
    """Yield what only agents of ADK are given: transfers, and what follows them."""
    names = [*more.agents, *(n for n in words.some_names if n not in more.agents)]
    text = words.some_texts[0]
    for at, name in enumerate(names[:AGENTS]):
        made = fixed_world(
            "transferred",
            there=[name],
            back=[names[1] if names[0] == name and len(names) > 1 else names[0]],
            name=words.some_names,
            text=[text],
            json=[fit(json_text(text)[1:-1])],
        )
        streamed = [{**run, "streaming": at % 2 == 1} for run in made["runs"]]
        yield "transfers", {**made, "runs": streamed}
    tool = next(
        (n for n in words.names if n not in {*names[:AGENTS], *FRAMEWORK}), OTHER
    )
    for result in words.some_texts[:PLAIN]:
        yield "plain results", _plain_result(tool, result)
    for most in _later(words):
        for name in more.agents[:AGENTS]:
            yield "transfers", _transferred_later(name, most)
            yield "transfers", _transferred_between(name, tool, most)
    for number, name in enumerate(more.agents[:AGENTS]):
        fails = ("tool", "model")[number % 2]
        yield "transfers", fixed_world(f"failing after: {fails}", there=[name])
