"""What a recording shows of a session, and what it would have shown of NEW.

NEW is seen through the same window as OLD: requests, the executions of tools and how
runs ended, as far as the format has them. So NEW is never accused of what a recording
is silent about.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from compat.models.recordings import (
    ANSWERS,
    REQUESTS,
    SHOWN,
    RecordedRun,
    SeenSession,
)
from refengine.messages import Json, ToolCall
from refengine.testing.channels import Item, Seen
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import Observation, ObservationKind, Trace, to_json


def recorded_trace(session: SeenSession) -> Trace:
    """Return what a recording shows, as observations."""
    found: list[Told] = []
    for number, run in enumerate(session.runs, 1):
        found.append(("run_start", number, {"continues": number > 1}, None))
        for call in run.calls:
            names = [{"name": name} for name in call.tools]
            messages = to_json(call.messages)
            data = _request({"messages": messages, "tools": names}, session)
            found.append(("model_request", number, data, None))
            found += [_executed(number, each) for each in call.executed]
        if run.ended:
            answer = run.answer if ANSWERS in SHOWN[session.kind] else None
            found.append(_ended(number, "completed", answer))
    return _trace(found)


def shown_trace(session: SeenSession, seen: Seen) -> Trace:
    """Return what a recording like this one would show of a trace."""
    return _trace([*_Window(session).seen(seen.items)])


Told: TypeAlias = "tuple[ObservationKind, int, Mapping[str, Json], str | None]"


def _trace(found: Sequence[Told]) -> Trace:
    return Trace(
        Observation(kind, run, at, data, call_id)
        for at, (kind, run, data, call_id) in enumerate(found)
    )


def _executed(run: int, call: ToolCall) -> Told:
    return _execution(run, call.name, call.arguments, call.id)


def _ended(run: int, status: str, answer: str | None) -> Told:
    said = None if answer is None else {"role": "assistant", "content": answer.strip()}
    return "run_end", run, {"status": status, "answer": said, "messages": []}, None


def answer_text(answer: object) -> str | None:
    """Return what a run answered, which is a message, a text or another value."""
    if is_mapping(answer) and "content" in answer:
        answer = answer["content"]
    if answer is None or isinstance(answer, str):
        return answer
    return json.dumps(answer, sort_keys=True)


def _execution(run: int, name: str, arguments: str, call_id: str | None) -> Told:
    data: dict[str, Json] = {
        "name": name,
        "arguments": _canonical(arguments),
        "implementation": "",
        "options": {},
        "ctx": {},
    }
    return "tool_start", run, data, call_id


class _Window:
    """Looks at the trace of a session as a recording of it would."""

    def __init__(self, session: SeenSession) -> None:
        self._session = session
        self._asked: Counter[int] = Counter()
        self._done: Counter[tuple[int, str | None]] = Counter()
        self._waiting: list[Told] = []

    def seen(self, items: Sequence[Item]) -> Iterator[Told]:
        """Yield what is seen of the observations."""
        for item in items:
            kind, run, data = item["kind"], item["run"], item["data"]
            if kind == "tool_start":
                self._take(run, data, item["call_id"])
            if kind == "tool_start" or not self._is_known(run):
                continue
            if kind == "model_request":
                self._answered_itself(run, data["messages"])
                yield from self._executions(run)
                self._asked[run] += 1
                yield kind, run, _request(data, self._session), None
            elif kind == "run_end":
                yield from self._executions(run)
                shows = ANSWERS in SHOWN[self._session.kind]
                answer = answer_text(data.get("answer")) if shows else None
                yield _ended(run, data["status"], answer)
            elif kind in {"run_start", "build_error"} or _is_error(kind, data):
                yield kind, run, data, None
        yield from self._executions(len(self._session.runs))

    def _run(self, number: int) -> RecordedRun | None:
        runs = self._session.runs
        return runs[number - 1] if 0 < number <= len(runs) else None

    def _is_known(self, number: int) -> bool:
        """Tell whether the recording goes on so far: of an open run not to its end."""
        run = self._run(number)
        if run is None:
            return number == 0
        return run.ended or self._asked[number] < len(run.calls)

    def _take(self, run: int, data: Mapping[str, Any], call_id: str | None) -> None:
        """Take an execution; behind the last request of an open run a recorded one."""
        if not self._is_known(run) and call_id not in self._calls(run):
            return
        self._done[run, call_id] += 1
        known = self._calls(run).get(call_id or "")
        same = known is not None and known.name == data["name"]
        arguments = known.arguments if known and same else data["arguments"]
        self._waiting.append(_execution(run, data["name"], arguments, call_id))

    def _calls(self, run: int) -> dict[str, ToolCall]:
        """Return the calls that were executed after the last request, by their ids."""
        recorded, at = self._run(run), self._asked[run] - 1
        if recorded is None or not 0 <= at < len(recorded.calls):
            return {}
        return {each.id: each for each in recorded.calls[at].executed}

    def _answered_itself(self, run: int, messages: Sequence[Mapping[str, Any]]) -> None:
        """Count a call as executed whose result is sent: OLD's may not have been, too.

        Who answers a call without its tool is not told from who executes it.
        """
        sent = {each.get("tool_call_id") for each in messages if each["role"] == "tool"}
        for id_, call in self._calls(run).items():
            if id_ in sent and not self._done[run, id_]:
                self._waiting.append(_executed(run, call))

    def _executions(self, run: int) -> list[Told]:
        """Return the executions since the last request, in the order of their calls."""
        order = [*self._calls(run)]
        found, self._waiting = self._waiting, []
        return sorted(
            found, key=lambda e: order.index(e[3]) if e[3] in order else len(order)
        )


def _is_error(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "event" and data["kind"] == "error"


def _request(data: Mapping[str, Any], session: SeenSession) -> dict[str, Json]:
    """Return a request as it is compared: messages, and tools by their names."""
    plain: dict[str, Json] = {"messages": [], "tools": [], "options": {}, "ctx": {}}
    if REQUESTS not in SHOWN[session.kind]:
        return plain
    tools = data["tools"] if session.tells_tools else ()
    names = sorted({str(each["name"]) for each in tools})
    return {
        **plain,
        "messages": [*plain_messages(data["messages"])],
        "tools": [{"name": name} for name in names],
    }


def plain_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Json]]:
    """Return what messages say, however a client cuts and writes them.

    Neighbouring messages of the model are one, and results stand in the order of their
    calls; text counts without the space around it, arguments as JSON, and ids by which
    calls and results they put together.
    """
    found: list[dict[str, Any]] = []
    for each in messages:
        said = _plain(each)
        last = found[-1] if found else None
        if last is not None and said["role"] == last["role"] == "assistant":
            last["content"] = f"{last['content']}{said['content']}"
            last["tool_calls"] = [*last.get("tool_calls", []), *said["tool_calls"]]
        else:
            found.append(said)
    names: dict[str, str] = {}
    return [_renamed(each, names) for each in _ordered(found)]


def _renamed(message: dict[str, Any], names: dict[str, str]) -> dict[str, Json]:
    """Return a message with calls known by their places: clients make up ids."""

    def name(id_: str) -> str:
        return names.setdefault(id_, f"c{len(names) + 1}")

    if "tool_call_id" in message:
        return {**message, "tool_call_id": name(message["tool_call_id"])}
    if "tool_calls" in message:
        calls = [{**e, "id": name(e["id"])} for e in message["tool_calls"]]
        return {**message, "tool_calls": calls}
    return message


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "role": message["role"],
        "content": str(message.get("content") or "").strip(),
    }
    if message["role"] == "tool":
        return {**found, "tool_call_id": message.get("tool_call_id", "")}
    if message["role"] == "assistant":
        found["tool_calls"] = [
            {
                "id": each.get("id", ""),
                "name": each["name"],
                "arguments": _canonical(each["arguments"]),
            }
            for each in message.get("tool_calls") or ()
        ]
    return found


def _ordered(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Json]]:
    order: list[str] = []
    results: list[dict[str, Any]] = []

    def sorted_results() -> list[dict[str, Any]]:
        def place(each: Mapping[str, Any]) -> int:
            id_ = each["tool_call_id"]
            return order.index(id_) if id_ in order else len(order)

        return sorted(results, key=place)

    for each in messages:
        if each["role"] == "tool":
            results.append(each)
            continue
        yield from sorted_results()
        results.clear()
        if each["role"] == "assistant":
            order = [call["id"] for call in each["tool_calls"]]
        yield each
    yield from sorted_results()


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def is_reworded(session: SeenSession, seen: Seen) -> bool:
    """Tell whether a run ends with another answer, and nobody knows if OLD's did."""
    if ANSWERS in SHOWN[session.kind]:
        return False
    ends = {each["run"]: each["data"].get("answer") for each in seen.of("run_end")}
    return any(
        run.answer is not None
        and (said := answer_text(ends.get(number))) is not None
        and said.strip() != run.answer.strip()
        for number, run in enumerate(session.runs, 1)
    )
