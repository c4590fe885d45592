"""Worlds for sides of two frameworks, LangChain and pydantic-ai.

What these answer differently by themselves, whatever a subject does, would hide what a
port does, so a world is changed until both do the same there: a call of a tool that is
not there, arguments that a schema refuses, an answer of nothing, calls in a stream that
breaks off, calls beside one that fails, results in another order than their calls, an
instruction with space around it, a caller's limit, which counts requests in one and
steps in the other, and tools that return directly, which only one has.
The guide of such ports names each.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from refengine.messages import Message, ToolCall
from refengine.testing.notation import parse_message, show_message
from refengine.testing.own_tools import is_own
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.kit import Data

SAID: Final = "-"
"""What a model says that said nothing: one framework asks it again, one ends."""
ASKED: Final = "user:go"
"""What a user says last where a run is given no such thing."""
UNFIT: Final = "unfit"


def across(world: Data, own_tools: Collection[str] = ()) -> Data:
    """Return a world, as JSON, in which both frameworks do the same by themselves.

    ``own_tools`` are the subjects': no tool of a world's has such a name.
    """
    agent: Data = {**world["agent"]}
    agent.pop("return_directly", None)
    tools = [_undeclared(each) for each in agent.get("tools", ())]
    failing = {each["name"] for each in tools if each.get("error") or each.get("body")}
    script = [_entry(each, failing) for each in world.get("model_script", ())]
    known = {*own_tools, *(each["name"] for each in tools)}
    called = dict.fromkeys(call.name for each in script for call in _calls(each))
    more = [n for n in called if n not in known and not is_own(n)]
    tools += [{"name": each, "result": "<args>"} for each in more]
    told = str(agent.pop("instruction", "")).strip()
    made = {**world, "runs": [_run(each) for each in world.get("runs", ())]}
    return {
        **made,
        **({"model_script": script} if script else {}),
        "agent": {
            **agent,
            **({"instruction": told} if told else {}),
            **({"tools": tools} if tools else {}),
        },
    }


def fits_across(world: Scenario, own_tools: Collection[str] = ()) -> bool:
    """Tell whether both frameworks do the same in a world by themselves."""
    data = world.model_dump(mode="json", exclude_defaults=True)
    return across(data, own_tools) == data


def _undeclared(tool: Data) -> Data:
    return {key: value for key, value in tool.items() if key != "parameters"}


def _entry(entry: Any, failing: Collection[str]) -> object:  # noqa: ANN401  # JSON of a script
    if isinstance(entry, str):
        return show_message(_said(parse_message(entry), failing))
    if "chunks" not in entry:
        return entry
    messages = [_said(parse_message(e), failing, whole=False) for e in entry["chunks"]]
    if "stream_error" in entry:  # whether a call was told by then is decided otherwise
        messages = [replace(each, tool_calls=()) for each in messages]
    calls = [call for each in messages for call in each.tool_calls]
    kept, content = _kept(calls, failing), "".join(each.content for each in messages)
    chunks = [_only(each, kept) for each in messages]
    if not content and "stream_error" not in entry and all(map(_may_be_none, kept)):
        chunks.append(Message("assistant", SAID))
    return {**entry, "chunks": [*map(show_message, chunks)]}


def _said(message: Message, failing: Collection[str], *, whole: bool = True) -> Message:
    """Return an answer whose calls both make alike; a piece of one is not ``whole``."""
    calls = [_plain(call) for call in message.tool_calls]
    if not whole:
        return replace(message, tool_calls=tuple(calls))
    kept = _kept(calls, failing)
    said = SAID if all(map(_may_be_none, kept)) else ""
    return replace(message, content=message.content or said, tool_calls=tuple(kept))


def _may_be_none(call: ToolCall) -> bool:
    """Tell whether a subject without tools of its own has no such call."""
    return is_own(call.name)


def _only(message: Message, kept: Collection[ToolCall]) -> Message:
    calls = tuple(each for each in message.tool_calls if each in kept)
    return replace(message, tool_calls=calls)


def _kept(calls: Sequence[ToolCall], failing: Collection[str]) -> Sequence[ToolCall]:
    """Return the calls of an answer, one alone if any of them may fail.

    What becomes of those beside it is luck, and decided otherwise.
    """
    fit = [each for each in calls if not _refused(each)]
    return fit[:1] if any(each.name in failing for each in fit) else fit


def _refused(call: ToolCall) -> bool:
    """Tell whether a tool of the subject's may refuse what it is called with.

    A search puts other numbers into calls, of which one that wants an integer takes
    some.
    """
    if not is_own(call.name):
        return False
    values = json.loads(call.arguments)
    return UNFIT in values or isinstance(values.get("integer"), float)


def _plain(call: ToolCall) -> ToolCall:
    """Return a call with its arguments as JSON is written that was read before."""
    try:
        found: object = json.loads(call.arguments or "{}")
    except ValueError:
        return call
    return replace(call, arguments=json.dumps(found, ensure_ascii=False))


def _calls(entry: Any) -> Iterator[ToolCall]:  # noqa: ANN401  # JSON of a script
    texts: Sequence[str] = (
        [entry] if isinstance(entry, str) else entry.get("chunks", ())
    )
    for each in texts:
        yield from parse_message(each).tool_calls


def _run(run: Mapping[str, Any]) -> Data:
    made = {key: value for key, value in run.items() if key != "steps"}
    said = [*_in_order(parse_message(each) for each in run.get("input", ()))]
    asked = [] if said and said[-1].role == "user" else [ASKED]
    return {**made, "input": [*map(show_message, said), *asked]}


def _in_order(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages, the results behind an answer in the order of its calls."""
    places: dict[str | None, int] = {}
    held: list[Message] = []
    for each in messages:
        if each.role == "tool":
            held.append(each)
            continue
        yield from sorted(held, key=lambda m: places.get(m.tool_call_id, 0))
        held.clear()
        calls = [_plain(call) for call in each.tool_calls]
        places = {call.id: at for at, call in enumerate(calls)} or places
        yield replace(each, tool_calls=tuple(calls))
    yield from sorted(held, key=lambda m: places.get(m.tool_call_id, 0))
