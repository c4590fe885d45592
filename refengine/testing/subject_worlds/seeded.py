"""Worlds made from sessions of the user's own: cut short, cut otherwise, put together.

A session as it was shows one life of an agent. What a port does wrong is often one step
beside it: where the history is one message shorter, where the same answers come in
other chunks, or where another conversation went before it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from refengine.messages import Message, ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import encoded, parse_message, write_message
from refengine.testing.subject_worlds.kit import Data, Kit
from refengine.testing.subject_worlds.words import Words

MOST: Final = 60
"""So many worlds are made from those of one file; the first ones come first."""
DOCUMENTS: Final = 8
"""So many documents are the result of one call at most."""


def seeded(sessions: Sequence[Data], words: Words, seed: int) -> Iterator[Data]:
    """Yield worlds made from these sessions, at most ``MOST``, no two alike."""
    seen = {_key(each) for each in sessions}
    made = 0
    for at, session in enumerate(sessions):
        kit = Kit(words, f"{seed}/seeded/{at}")
        other = sessions[(at + 1) % len(sessions)]
        for each in _made_from(session, other, kit):
            if _key(each) in seen:
                continue
            seen.add(_key(each))
            made += 1
            yield each
            if made == MOST:
                return


def _key(session: Data) -> str:
    return json.dumps(session, sort_keys=True)


def _made_from(session: Data, other: Data, kit: Kit) -> Iterator[Data]:
    if not _is_plain(session):
        return
    yield _rechunked(session, kit)
    yield from _shortened(session, kit)
    if _is_plain(other) and other is not session:
        yield _joined(session, other)
    else:
        yield _joined(session, session)


def _is_plain(session: Data) -> bool:
    """Tell whether it is one agent's, and no run of it is resumed or cancelled."""
    special = ("resume", "cancel", "agent", "checkpoint")
    runs = session.get("runs", ())
    return "agent" in session and not any(k in r for r in runs for k in special)


def _rechunked(session: Data, kit: Kit) -> Data:
    """Return it streamed, with answers cut anywhere and calls in the last chunk."""
    made = copy.deepcopy(session)
    made["model_script"] = [_cut(each, kit) for each in made.get("model_script", ())]
    made["runs"] = [{**run, "streaming": True} for run in made["runs"]]
    for tool in made["agent"].get("tools", ()):
        tool["kind"] = "both"
    return made


def _cut(entry: Any, kit: Kit) -> object:  # noqa: ANN401  # an entry of a script
    if not isinstance(entry, str):
        return entry
    message = parse_message(entry)
    if message.extra or message.role != "assistant":
        return entry
    pieces = kit.cut(message.content)
    said = [Message("assistant", piece) for piece in pieces]
    said[-1] = replace(said[-1], tool_calls=message.tool_calls)
    return {"chunks": [write_message(each) for each in said]}


def _shortened(session: Data, kit: Kit) -> Iterator[Data]:
    """Yield it with its last turns alone: what went before stands in their history."""
    runs = session["runs"]
    histories = _histories(session)
    if len(runs) > 1 and histories is not None:
        at = 1 + kit.dice.below(len(runs) - 1)
        past, used = histories[at]
        made = copy.deepcopy(session)
        first = {k: v for k, v in runs[at].items() if k != "continues"}
        first["input"] = [*past, *runs[at].get("input", ())]
        made["runs"] = [first, *copy.deepcopy(runs[at + 1 :])]
        made["model_script"] = session["model_script"][used:]
        yield made
        yield {**copy.deepcopy(session), "runs": copy.deepcopy(runs[:at])}
    long = [
        at for at, text in enumerate(runs[0].get("input", ())) if text[:5] == "user:"
    ]
    if len(long) > 1:
        made = copy.deepcopy(session)
        made["runs"][0]["input"] = runs[0]["input"][long[1] :]
        yield made


def _histories(session: Data) -> list[tuple[list[str], int]] | None:
    """Return what went before each run, and how many answers; None if it is unknown.

    That is where each turn goes on from the last one, and each answer is whole and
    each result was recorded.
    """
    recorded = {
        (tool["name"], id_): results[0]
        for tool in session["agent"].get("tools", ())
        for id_, results in tool.get("by_call", {}).items()
    }
    script = list(session.get("model_script", ()))
    past: list[str] = []
    found: list[tuple[list[str], int]] = []
    used = 0
    for at, run in enumerate(session["runs"]):
        if at and not run.get("continues"):
            return None
        found.append((list(past), used))
        past += run.get("input", ())
        while used < len(script):
            entry = script[used]
            used += 1
            if not isinstance(entry, str):
                return None
            past.append(entry)
            calls = parse_message(entry).tool_calls
            for call in calls:
                result = recorded.get((call.name, call.id))
                if result is None:
                    return None
                past.append(f"tool({call.id}):{result}")
            if not calls:
                break
    return found


def _joined(one: Data, other: Data) -> Data:
    """Return two sessions as one, of an agent with the tools of both."""
    other = _renamed(copy.deepcopy(other))
    made = copy.deepcopy(one)
    made["model_script"] = [*one.get("model_script", ()), *other["model_script"]]
    made["runs"] = [*made["runs"], *_on(other["runs"])]
    tools: dict[str, Data] = {}
    for tool in (*made["agent"].get("tools", ()), *other["agent"].get("tools", ())):
        known = tools.setdefault(tool["name"], tool)
        if known is not tool and tool.get("by_call"):
            known["by_call"] = {**known.get("by_call", {}), **tool["by_call"]}
    if tools:
        made["agent"]["tools"] = list(tools.values())
    most = [
        side["agent"]["max_iterations"]
        for side in (one, other)
        if "max_iterations" in side["agent"]
    ]
    if most:
        made["agent"]["max_iterations"] = max(most)
    return made


def _on(runs: Sequence[Data]) -> list[Data]:
    """Return the runs, the first of which goes on with the thread before."""
    return [
        {**run, **({} if at else {"continues": True})} for at, run in enumerate(runs)
    ]


def _renamed(session: Data) -> Data:
    """Return it with other ids of calls, since those of two sessions may be equal."""
    session["model_script"] = [_other(each) for each in session.get("model_script", ())]
    for tool in session["agent"].get("tools", ()):
        if "by_call" in tool:
            tool["by_call"] = {f"{id_}b": all_ for id_, all_ in tool["by_call"].items()}
    for run in session["runs"]:
        if "input" in run:
            run["input"] = [_other_ids(each) for each in run["input"]]
        if "denies" in run:
            run["denies"] = [f"{id_}b" for id_ in run["denies"]]
    return session


def _other(entry: Any) -> object:  # noqa: ANN401  # an entry of a script
    return _other_ids(entry) if isinstance(entry, str) else entry


def _other_ids(text: str) -> str:
    message = parse_message(text)
    calls = tuple(replace(call, id=f"{call.id}b") for call in message.tool_calls)
    of = message.tool_call_id
    return write_message(
        replace(message, tool_calls=calls, tool_call_id=f"{of}b" if of else of)
    )


def texts_of(session: Data) -> Iterator[str]:
    """Yield what people, tools and the model said in a session."""
    for run in session.get("runs", ()):
        for text in run.get("input", ()):
            yield parse_message(text).content
    for tool in session.get("agent", {}).get("tools", ()):
        for results in tool.get("by_call", {}).values():
            yield from results
    for entry in session.get("model_script", ()):
        if isinstance(entry, str):
            message = parse_message(entry)
            yield message.content
            for call in message.tool_calls:
                yield from _values(call.arguments)


def _values(arguments: str) -> Iterator[str]:
    try:
        tree = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    if is_mapping(tree):
        yield from (each for each in tree.values() if isinstance(each, str))


def document_worlds(
    documents: Sequence[object], words: Words, seed: int
) -> Iterator[Data]:
    """Yield worlds in which tools find documents: one, some, equal ones, and none.

    Results are the documents as JSON lists, and texts as they are; the model asks once
    and again, so that what is kept of the first result is seen.
    """
    kit = Kit(words, f"{seed}/documents")
    for at in range(0, len(documents), DOCUMENTS):
        some = list(documents[at : at + DOCUMENTS])
        results = [_json(some), _json([some[0], some[0]]), _json(some[:1]), "[]"]
        results += [each for each in some if isinstance(each, str)]
        results += [_json(each) for each in some if not isinstance(each, str)]
        for name in kit.words.some_names[:2]:
            yield _finding(name, results)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _finding(name: str, results: Sequence[str]) -> Data:
    """Return a world in which a tool gives one of these results after the other."""
    calls = [ToolCall(f"d{at}", name, '{"q": "a"}') for at in range(len(results))]
    by_call = {c.id: [encoded(r)] for c, r in zip(calls, results, strict=True)}
    script = [write_message(Message("assistant", "", (call,))) for call in calls]
    said = [text for each in script for text in (each, "assistant:done")]
    runs = [
        {"input": ["user:find it"], **({"continues": True} if at % 2 else {})}
        for at in range(len(calls))
    ]
    tool = {"name": name, "kind": "both", "by_call": by_call}
    return {"agent": {"tools": [tool]}, "model_script": said, "runs": runs}
