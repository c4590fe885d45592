"""STR: the same world invoked, streamed and streamed in other pieces (contract §2 STR).

Only worlds that distribute are looked at: no operation of theirs looks at chunks, a
tool gives one result whichever way it is run, and no stream breaks off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, TypeAlias, cast

from property_tests.check import Check, Decide, Decision, PlayedWorld
from property_tests.variants import INVOKED, RECHUNKED, STREAMED
from property_tests.view import RunView
from refengine.testing.notation import CALL_START
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import ModelChunks, Scenario, ScriptEntry
from refengine.testing.strategies.variants import distributes
from refengine.testing.trace import Observation

Compared: TypeAlias = "tuple[object, Observation | None]"
"""What is compared, and the observation that it was read from."""
Read: TypeAlias = Callable[[RunView], Sequence[Compared]]

PIECE: Final = "[:("
"""How a trace shows the further piece of a call: it names nothing."""
_TOOL_EVENT: Final = re.compile(r"tool\([^()]*\):")


def distributing(scenario: Scenario) -> bool:
    """Tell whether a world has to end the same in both modes and all chunkings."""
    return all(map(_whole, scenario.model_script)) and all(
        all(map(distributes, (*a.tool_call_middlewares, *a.middlewares)))
        and all(map(distributes, a.handlers))
        and all(map(_one_result, a.every_tool))
        for a in scenario.all_agents
    )


def _tells_the_same(scenario: Scenario) -> bool:
    """Tell whether events show whose pieces of calls they bring, and all of them."""
    in_turn = not any(map(_in_pieces, scenario.model_script))
    return distributing(scenario) and in_turn and scenario.is_read_whole


def _one_result(tool: ToolSpec) -> bool:
    """Tell whether a tool gives the same in both modes, and to its end."""
    if tool.stream_error is not None:
        return False
    if tool.kind != "both" or not tool.chunks:
        return True
    text = "".join(tool.chunks)
    return not tool.by_call and text == tool.result and "<" not in text


def _whole(entry: ScriptEntry) -> bool:
    """Tell whether an answer comes to its end."""
    if not isinstance(entry, ModelChunks):
        return True
    return entry.stream_error is None and bool(entry.chunks)


def _in_pieces(entry: ScriptEntry) -> bool:
    """Tell whether an answer brings pieces of calls, perhaps of several by turns."""
    chunks = entry.chunks if isinstance(entry, ModelChunks) else ()
    return any(chunk.startswith("{") for chunk in chunks)


def _requests(run: RunView) -> Sequence[Compared]:
    """Return what the model was asked, and how it failed."""
    return [
        ({key: each.data[key] for key in each.data if key != "n"}, each)
        for each in run.entries
        if each.kind in {"model_request", "model_error"}
    ]


def _executions(run: RunView) -> Sequence[Compared]:
    """Return what tools ran, call by call; the mode is all that may differ."""
    acts = [each for each in run.entries if each.kind in {"tool_start", "tool_error"}]
    return [
        ({"call": each.call_id, **_without_mode(each.data)}, each)
        for each in sorted(acts, key=lambda each: str(each.call_id))
    ]


def _without_mode(data: Mapping[str, object]) -> dict[str, object]:
    return {key: data[key] for key in data if key != "mode"}


def _ends(run: RunView) -> Sequence[Compared]:
    """Return how a run ended: status, answer, messages, and the error if there is one.

    Which class of the engine's own errors it is may depend on the mode; its point not.
    """
    error = {} if run.error is None else {"error": run.error.data.get("error")}
    return [] if run.end is None else [({**run.end.data, **error}, run.end)]


def _contents(run: RunView) -> Sequence[Compared]:
    """Return what each event told in the end: the answers, then results by call."""
    model: list[Compared] = []
    tools: list[tuple[str, Compared]] = []
    for event in run.events:
        shown: object = {"call": event.call_id, "content": _content(event)}
        if event.data.get("kind") == "model":
            model.append((shown, event))
        elif event.data.get("kind") == "tool":
            tools.append((str(event.call_id), (shown, event)))
    return [*model, *(shown for _, shown in sorted(tools, key=lambda each: each[0]))]


def _content(event: Observation) -> object:
    """Return the text and the calls of an event, whatever it came in."""
    stream = event.data.get("stream")
    parts = cast("list[object]", stream)
    if not isinstance(stream, list):
        parts = [event.data.get("message")]
    texts: list[str] = []
    calls: list[str] = []
    for part in parts:
        shown = str(part)
        start = _TOOL_EVENT.match(shown)
        if start is not None:
            texts.append(shown[start.end() :])
            continue
        text = shown.removeprefix("assistant:")
        at = CALL_START.search(text)
        cut = len(text) if at is None else at.start()
        if any(calls) and text.startswith(PIECE):
            cut = 0
        texts.append(text[:cut])
        calls.append(text[cut:])
    return ["".join(texts), "".join(calls).replace(f")]{PIECE}", "")]


def _same(first: str, then: str, read: Read, claim: str) -> Decide:
    """Return what decides that a reading of every run is the same in two variants."""

    def decide(case: PlayedWorld) -> Iterator[Decision]:
        one, two = case[first], case[then]
        for left, right in zip(one.runs, two.runs, strict=False):
            if _cancelled(case, left, right) or _late(case, left):
                continue
            for expected, got in zip_longest(read(left), read(right)):
                yield _compared(claim, expected, got, then)
        if len(one.runs) != len(two.runs):
            yield Decision(claim, len(one.runs), len(two.runs), None, then)

    return decide


def _compared(
    claim: str, expected: Compared | None, got: Compared | None, variant: str
) -> Decision:
    value, at = got or (None, None)
    return Decision(claim, expected and expected[0], value, at, variant)


def _cancelled(case: PlayedWorld, left: RunView, right: RunView) -> bool:
    """Tell whether a failing call may have cancelled others, in either run.

    How far those had come is a matter of time, and streams take another.
    """
    if case.profile.failing_call == "siblings_finish":
        return False
    return "error" in {left.status, right.status}


def _late(case: PlayedWorld, run: RunView) -> bool:
    """Tell whether an apology may have taken the place of the last answer.

    A stream has been passed on when it is known that its calls come too late.
    """
    last = len(run.iterations) == run.agent.max_iterations
    return case.profile.exhaustion == "apology" and last


def _check(clause: str, first: str, then: str, read: Read, claim: str) -> Check:
    return Check(
        clause=clause,
        decide=_same(first, then, read, claim),
        variants=(first, then),
        meant=_tells_the_same if read is _contents else distributing,
    )


CHECKS: Final = (
    _check(
        "STR-012",
        INVOKED,
        STREAMED,
        _requests,
        "a streamed run sends the model what an invoked one sends",
    ),
    _check(
        "STR-013",
        INVOKED,
        STREAMED,
        _executions,
        "a streamed run executes the tools that an invoked one executes",
    ),
    _check(
        "STR-014",
        INVOKED,
        STREAMED,
        _ends,
        "a streamed run ends as an invoked one: status, answer, messages, error",
    ),
    _check(
        "STR-015",
        INVOKED,
        STREAMED,
        _contents,
        "the events of a streamed run tell, joined, what those of an invoked one tell",
    ),
    _check(
        "STR-016",
        STREAMED,
        RECHUNKED,
        lambda run: [*_requests(run), *_executions(run), *_ends(run)],
        "a run whose streams are cut elsewhere asks, executes and ends the same",
    ),
    _check(
        "STR-017",
        STREAMED,
        RECHUNKED,
        _contents,
        "the events of a run whose streams are cut elsewhere tell, joined, the same",
    ),
)
"""What all worlds that distribute have to keep."""
