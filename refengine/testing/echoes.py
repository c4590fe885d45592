"""Echoes in a stream: messages that its consumer is shown once more.

A hook that puts a history in the place of another one, as compaction and trimming do,
or a node that hands on what an agent left, has the frameworks stream messages that the
consumer knows: they were given to the run, or shown in it. Which of them come again,
and when, hangs on how the history is written down, not on what is said. What is shown
for the first time, and what is kept nowhere, is no echo.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from refengine.testing.json_values import is_list, is_mapping

Item: TypeAlias = "Mapping[str, Any]"
Key: TypeAlias = "tuple[str, str, str]"  # who, the text, and its calls


def echoes(items: Iterable[Item]) -> frozenset[int]:
    """Return which events are echoes, by when they were observed.

    Only graphs have any, and what a model says, it says now. A run that begins with a
    message, and ends with it twice, shows it once.
    """
    runs: dict[int, list[Item]] = {}
    graph = False
    for each in items:
        graph = graph or (each["kind"] == "build" and "way" in each["data"])
        if each["kind"] in {"run_start", "run_end", "event"}:
            runs.setdefault(each["run"], []).append(each)
    if not graph or not any(map(_may_be_one, chain.from_iterable(runs.values()))):
        return frozenset()
    found: list[int] = []
    before: Sequence[Item] = ()
    for number in sorted(runs):
        of_run = runs[number]
        known = _known(of_run, before)
        before = _messages(of_run, "run_end")
        found += _of_run(of_run, known, Counter(map(_key, before)))
    return frozenset(found)


def _may_be_one(each: Item) -> bool:
    """Tell whether an event shows a message of a graph that may have been shown before.

    Others say who their author is, and of a result which call it answers.
    """
    data = each["data"]
    if each["kind"] != "event" or "whole" not in data or "author" in data:
        return False
    return data["kind"] == "hook" or (data["kind"] == "tool" and bool(each["call_id"]))


def _known(run: Sequence[Item], before: Sequence[Item]) -> Counter[Key]:
    """Return what a run begins with: what it is given, and the thread if it has one."""
    given = _messages(run, "run_start")
    continues = any(
        each["data"].get("continues") for each in run if each["kind"] == "run_start"
    )
    thread = before if continues and given[: len(before)] != before else ()
    return Counter(map(_key, [*thread, *given]))


def _messages(run: Iterable[Item], kind: str) -> Sequence[Item]:
    found = (each["data"].get("messages") or () for each in run if each["kind"] == kind)
    return next(iter(found), ())


def _of_run(
    run: Iterable[Item], known: Counter[Key], left: Counter[Key]
) -> Iterator[int]:
    new = left - known
    for each in run:
        whole = each["data"].get("whole") if each["kind"] == "event" else None
        if whole is None:
            continue
        kind = each["data"]["kind"]
        role = f"tool {each['call_id']}" if kind == "tool" else "assistant"
        key = role, whole["text"], json.dumps(whole["tool_calls"])
        if _may_be_one(each) and known[key] and not new[key]:
            yield each["seq"]
        known[key] += 1
        new[key] -= new[key] > 0


def _key(message: Item) -> Key:
    """Return what an event that shows a message says."""
    calls = [
        [c["id"], c["name"], c["arguments"]] for c in message.get("tool_calls", ())
    ]
    role = message["role"]
    if role == "tool":
        role = f"tool {message.get('tool_call_id')}"
    return role, text_in(message.get("content")), json.dumps(calls)


def text_in(content: Any) -> str:  # noqa: ANN401  # a text, or blocks
    """Return the text of a message's content, that of all its blocks in one piece."""
    if isinstance(content, str):
        return content
    blocks = content if is_list(content) else ()
    return "".join(str(each.get("text", "")) for each in blocks if is_mapping(each))
