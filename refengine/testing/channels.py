"""Channels: named projections of a trace, which migrations are compared by.

Each takes a trace to entries in the order in which they happened, concurrent calls in
call order. The letters are those of the list in verdicts, Migration.

What differs whatever a graph does is not compared (``VOLATILE``): the bridge leaves it
out of a trace, so these reasons, which reports and the guide name, are all that is left
of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from refengine.messages import Json
from refengine.testing.echoes import echoes
from refengine.testing.hand_over import HANDED_OVER
from refengine.testing.notation import parse_message
from refengine.testing.recorder import KEPT, RECORDED, TOOK
from refengine.testing.trace import Trace, in_call_order

Item: TypeAlias = "Mapping[str, Any]"  # an observation as JSON values


@dataclass(frozen=True, slots=True)
class ChannelEntry:
    """One entry of a channel; ``seq`` says when it was observed."""

    seq: int
    value: Mapping[str, Json]


Channel: TypeAlias = "Callable[[Seen], Iterator[ChannelEntry]]"


class Seen:
    """A trace made ready for projections: JSON values, in call order, read once."""

    __slots__ = ("echoes", "items", "turns")

    def __init__(self, trace: Trace | str) -> None:
        """Read a trace, or what ``Trace.to_jsonl`` wrote of it."""
        written = trace if isinstance(trace, str) else trace.to_jsonl()
        entries = map(json.loads, written.splitlines())
        self.items: Sequence[Item] = cast("Sequence[Item]", in_call_order(entries))
        self.turns: frozenset[int] = frozenset(
            each["run"]
            for each in self.items
            if each["kind"] == "run_start" and each["data"].get("continues")
        )
        self.echoes: frozenset[int] = echoes(self.items)

    def of(self, *kinds: str) -> Iterator[Item]:
        """Yield the observations of these kinds."""
        return (each for each in self.items if each["kind"] in kinds)


def project(seen: Seen, channel: str) -> list[ChannelEntry]:
    """Return the entries of one channel; raises KeyError for an unknown one."""
    return list(CHANNELS[channel](seen))


def _entry(item: Item, **value: Json) -> ChannelEntry:
    return ChannelEntry(item["seq"], {"run": item["run"], **value})


def _requests(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield the canonical body of each model request (a)."""
    for each in seen.of("model_request"):
        data = each["data"]
        parts = ("messages", "tools", "options")
        yield _entry(each, **{key: data[key] for key in parts})


def _model_calls(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield that a model call was made, numbered in its run (b)."""
    calls: Counter[int] = Counter()
    for each in seen.of("model_request"):
        calls[each["run"]] += 1
        yield _entry(each, call=calls[each["run"]])


def _observed(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield what the world's own extensions saw, and effects between it (c).

    Of graphs also what messages carry beside what they say, such as a tool's status.
    """
    for each in seen.of(
        "hook_enter", "hook_exit", "effect", "model_request", "tool_start", "run_end"
    ):
        kind, data = each["kind"], each["data"]
        if kind == "run_end":
            if "marks" not in data:
                continue
            data = {"marks": data["marks"]}
        elif kind in {"model_request", "tool_start"}:
            data = {"ctx": data["ctx"]}
        elif kind == "effect" and data["name"] not in {RECORDED, KEPT}:
            data = {"name": data["name"]}  # its data are in a channel of their own
        yield _entry(each, kind=kind, call_id=each["call_id"], data=data)


def _tool_executions(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield each execution: which tool, with what, how often (d)."""
    for each in seen.of("tool_start"):
        keys = ("name", "arguments", "implementation", "options")
        fields = {key: each["data"][key] for key in keys}
        yield _entry(each, call_id=each["call_id"], **fields)


def _answer(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield status and answer of every run that is not a later turn (e)."""
    return _ends(seen, ("status", "answer"), turn=False)


def _state(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield the final messages of every run that is not a later turn (e)."""
    return _ends(seen, ("messages",), turn=False)


def _second_turn(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield how later turns of a thread ended (f)."""
    return _ends(seen, ("status", "answer", "messages"), turn=True)


def _ends(seen: Seen, keys: Sequence[str], *, turn: bool) -> Iterator[ChannelEntry]:
    for each in seen.of("run_end"):
        if (each["run"] in seen.turns) == turn:
            fields = {key: each["data"].get(key) for key in keys}
            if "messages" in keys:
                more = ("values", UNKEPT)
                fields |= {k: each["data"][k] for k in more if k in each["data"]}
            yield _entry(each, **fields)


def _stored_events(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield each event that a session kept of a run, whose and what it does (o)."""
    for each in seen.of("run_end"):
        for event in each["data"].get("stored", {}).get("events", ()):
            yield _entry(each, **event)


def _scope_state(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield the state that is kept after a run, by scope (o)."""
    for each in seen.of("run_end"):
        if "stored" in each["data"]:
            yield _entry(each, **each["data"]["stored"]["state"])


def _artifacts(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield the artifacts that are kept after a run, each with its versions (o)."""
    for each in seen.of("run_end"):
        if "stored" in each["data"]:
            yield _entry(each, names=each["data"]["stored"]["artifacts"])


def _saved(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield what a store has of a session after a run: messages, and what else (o)."""
    for each in seen.of("run_end"):
        if "saved" in each["data"]:
            yield _entry(each, **each["data"]["saved"])


def _parts(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield each part that a run left, as it was at its end (q)."""
    for each in seen.of("run_end"):
        for part in each["data"].get("parts", ()):
            yield _entry(each, **part)


def _part_events(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield each change of a part, text that came in pieces as one of them (q)."""
    for event, pieces in _joined_events(seen):
        fields = {key: value for key, value in event["data"].items() if key != "text"}
        yield _entry(event, **fields, text="".join(pieces))


def _joined_events(seen: Seen) -> list[tuple[Item, list[str]]]:
    """Return the events of parts; those that only add text join the one before.

    The one before of that part, since pieces of several may come in turns.
    """
    found: list[tuple[Item, list[str]]] = []
    last: dict[tuple[int, str], tuple[Item, list[str]]] = {}
    for each in seen.of("part_event"):
        data = each["data"]
        text: str = data.get("text", "")
        known = last.get((each["run"], data["id"]))
        if known and text and known[0]["data"]["state"] == data["state"] == STREAMING:
            known[1].append(text)
            continue
        last[each["run"], data["id"]] = each, [text]
        found.append(last[each["run"], data["id"]])
    return found


STREAMING: Final = "streaming"
"""The state of a part that is still growing."""


def _deliveries(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield each fact of a session, and how many callbacks of whom were told (p).

    ``each`` is the most that one owner has. A form with one slot has no owners.
    """
    for each in seen.of("delivery"):
        told: Mapping[str, int] = each["data"]["to"]
        owners = {owner: times for owner, times in told.items() if owner != SLOT}
        most = {"each": max(told.values())} if told else {}
        yield _entry(each, **{**each["data"], "to": {**owners, **most}})


SLOT: Final = "slot"
"""Whose callbacks those are that stand in the only slot there is."""


UNKEPT: Final = "unkept"
"""The mark of a run that failed where nothing keeps what it left."""


def _pairing(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield what is wrong with ids and results of calls, where messages are sent (g).

    Vendors refuse a request in which a call has no result or a result no call.
    """
    for each in seen.of("model_request", "run_end"):
        unkept = {UNKEPT: True} if each["data"].get(UNKEPT) else {}
        yield _entry(each, **_unpaired(each["data"]["messages"]), **unkept)


def _unpaired(messages: Iterable[Mapping[str, Any]]) -> dict[str, Json]:
    calls: list[str] = []
    results: list[str] = []
    for message in messages:
        calls += [call.get("id", "") for call in message.get("tool_calls", ())]
        if message["role"] == "tool":
            results.append(message.get("tool_call_id", ""))
    return {
        "repeated_ids": {id_: True for id_ in calls if calls.count(id_) > 1},
        "calls_without_result": {id_: True for id_ in calls if id_ not in results},
        "results_without_call": {id_: True for id_ in results if id_ not in calls},
    }


def _events(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield what the consumer received, the text of a stream in one piece (h).

    Not what is only an echo of a message that it knows. Of an interrupt that is what
    was asked; addresses name who asked, and stay out.
    """
    for each in seen.of("event"):
        data = each["data"]
        if data["kind"] == "error":
            yield _entry(each, kind="error")
            continue
        if each["seq"] in seen.echoes:
            continue
        fields = {"kind": data["kind"], "call_id": each["call_id"], **_whole(data)}
        for key in ("action", "payloads", "author", "actions", "more"):
            if key in data:
                fields[key] = data[key]
        yield _entry(each, **fields, failed="stream_error" in data)


def _whole(data: Item) -> dict[str, Json]:
    """Return text and calls of an event, however it was cut."""
    if "whole" in data:
        fields: dict[str, Json] = data["whole"]
        return fields
    pieces = data.get("stream") or [data.get("message")]
    texts: list[str] = []
    calls: list[Json] = []
    for message in map(parse_message, filter(None, pieces)):
        texts.append(message.content)
        calls += [[c.id, c.name, c.arguments] for c in message.tool_calls]
    return {"text": "".join(texts), "tool_calls": calls}


def _chunks(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield where the streams that the consumer received were cut, and parts (h, q)."""
    for each in seen.of("event"):
        if "stream" in each["data"]:
            yield _entry(each, chunks=each["data"]["stream"])
    for event, pieces in _joined_events(seen):
        if len(pieces) > 1:
            yield _entry(event, chunks=pieces)


def _errors(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield class and point of each error that came out (i)."""
    for each in seen.of("build_error", "event"):
        data = each["data"]
        if "error" in data:
            error = data["error"]
            fields = {key: error.get(key) for key in ("of", "call")}
            if "cause" in error:
                fields["cause"] = error["cause"]
            point = POINTS.get(error["point"], error["point"])
            yield _entry(each, point=point, error=data["class"], **fields)


def _wrapping(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield the classes that a framework put around each error that came out (i)."""
    for each in seen.of("build_error", "event"):
        if "error" in each["data"]:
            yield _entry(each, around=each["data"]["error"].get("around", []))


def _checkpoints(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield what was kept after each step of a run, as a whole (j).

    Not by which key, and not who asked: names are the author's choice.
    """
    keys = ("phase", "status", "messages", "locals", "pending")
    for each in seen.of("checkpoint"):
        if each["data"]["op"] == "write":
            yield _entry(each, **{key: each["data"].get(key) for key in keys})


def _handed_over(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield what a side has of a run that another process kept, before it goes on (s).

    What waits, values and their types, and those that they had before; ``ran`` are the
    calls that were made before.
    """
    keys = ("messages", "values", "types", "were", "pending", "ran")
    for each in seen.of("checkpoint"):
        if each["data"]["op"] == HANDED_OVER:
            yield _entry(each, **{key: each["data"][key] for key in keys})


POINTS: Final = MappingProxyType(
    {"before_chat_model": "before_model", "after_chat_model": "after_model"}
)
"""One point of a run has one name here, whatever interface the extension has."""


def _interleaving(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield in which order calls of one message really ran (k): sync or async.

    A wrapper that blocks, or takes a lock around ``next``, is told by this alone. The
    threads of a graph that is run plain have no order.
    """
    kinds = ("tool_start", "tool_end", "tool_error")
    if any(each["data"].get("way") == "sync" for each in seen.of("build")):
        return
    for each in sorted(seen.of(*kinds), key=lambda item: cast("int", item["seq"])):
        yield _entry(each, kind=each["kind"], call_id=each["call_id"])


def _ways(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield how a graph was to be run, and how it could be (n)."""
    for each in seen.of("build"):
        if "way" in each["data"]:
            fields = {key: each["data"][key] for key in ("asked", "way")}
            yield _entry(each, **fields)


def _caller_objects(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield which of the caller's objects were changed (l)."""
    return (_entry(each, **each["data"]) for each in seen.of("caller_object_changed"))


def _effects(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield the subject's own side effects, one for each time they were done (m).

    With how many model calls of the run, and executions of the own tool call, came
    before: asking a person after the tool ran is not asking before it.
    """
    before: Counter[tuple[int, str | None]] = Counter()
    for each in seen.of("effect", "model_request", "tool_start"):
        run, call_id = each["run"], each["call_id"]
        if each["kind"] == "model_request":
            before[run, None] += 1
        elif each["kind"] == "tool_start":
            before[run, call_id or ""] += 1
        elif each["data"]["name"] not in {RECORDED, KEPT}:
            fields = {key: each["data"].get(key) for key in ("name", "data")}
            after = {
                "model_calls": before[run, None],
                "executions": before[run, call_id or ""],
            }
            yield _entry(each, call_id=call_id, after=after, **fields)


def _waits(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield how long each run took that came to its end (u).

    One that fails leaves calls behind of which it is luck whether they had begun.
    """
    for each in seen.of("run_end"):
        if each["data"]["status"] not in {"error", "cancelled"}:
            yield _entry(each, seconds=each["data"].get(TOOK, 0))


def _nodes(seen: Seen) -> Iterator[ChannelEntry]:
    """Yield through which nodes a run of a graph went, where both sides have the same.

    That is asked for where both sides are one piece of code (r).
    """
    for each in seen.of("run_end"):
        if "nodes" in each["data"]:
            yield _entry(each, **each["data"]["nodes"])


CHANNELS: Final[Mapping[str, Channel]] = MappingProxyType(
    {
        "answer": _answer,
        "state": _state,
        "second_turn": _second_turn,
        "stored_events": _stored_events,
        "scope_state": _scope_state,
        "artifacts": _artifacts,
        "saved": _saved,
        "parts": _parts,
        "pairing": _pairing,
        "caller_objects": _caller_objects,
        "requests": _requests,
        "model_calls": _model_calls,
        "tool_executions": _tool_executions,
        "events": _events,
        "errors": _errors,
        "effects": _effects,
        "ways": _ways,
        "nodes": _nodes,
        "deliveries": _deliveries,
        "part_events": _part_events,
        "observed": _observed,
        "chunks": _chunks,
        "interleaving": _interleaving,
        "wrapping": _wrapping,
        "waits": _waits,
        "checkpoints": _checkpoints,
        "handed_over": _handed_over,
    }
)
"""Every channel, by name."""


VOLATILE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ids of messages": "they are drawn anew in every run",
        "names of nodes": (
            "each hook of the newer form is a node named after itself, and the model's"
            " own was renamed"
        ),
        "steps and checkpoints": "every node adds one",
        "metadata and usage of a response": "they are the vendor's, and the world's",
        "name of a tool's result": "no request carries it, and its call has it",
        "status and artifact of a tool's result, additional_kwargs": (
            "few requests carry them; they are told as MARKS"
        ),
        "one block of text, or that text": "a request says the same with both",
        "keys of the state that only NEW has": "nobody can have looked for them",
        "keys by which a framework talks to itself": (
            "remaining_steps, jump_to, llm_input_messages and the like"
        ),
        "messages that a stream shows once more": (
            "the consumer has them; chunks tell which come again, and when"
        ),
        "system and user messages that hooks stream": (
            "they are for the model; what it is sent is compared"
        ),
        "the order of threads": "calls of one answer end in any order",
        "the call of an effect, where OLD's has none": (
            "a node that makes all calls itself does not say in which"
        ),
        "what a run left that failed, if only one side has a checkpointer": (
            "nobody can have looked for it"
        ),
        "ways that only NEW has": "nobody can have called OLD in them",
    }
)
"""What is left out, and the reason."""
