"""STR: streams against whole results (contract §2 STR)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import chunks, modes
from property_tests.checks.ends import SUCCESS
from property_tests.checks.outcomes import fate
from property_tests.checks.passages import (
    Passage,
    calls_of,
    kind_of,
    layers,
    name_of,
    passages,
    redirects,
)
from property_tests.view import Call, HookView, Iteration, RunView, View
from refengine.messages import Message, MessageChunk
from refengine.testing.notation import show_chunk, show_message
from refengine.testing.trace import Observation


def streams_closed(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether every stream that was read was closed, once, before the end."""
    for run in case.played.runs:
        if run.end is None:
            continue
        for of in ("model", "tool"):
            for begun, closed, last in _streams(run, of):
                claim = f"every stream of a {of} that was read is closed exactly once"
                yield Decision(claim, begun, closed, last)


def _streams(run: RunView, of: str) -> Iterator[tuple[int, int, Observation]]:
    """Yield how many streams were begun and closed, for each model or tool call."""
    begun: dict[str | None, int] = {}
    closed: dict[str | None, int] = {}
    last: dict[str | None, Observation] = {}
    reading: set[str | None] = set()
    for seen in run.entries:
        key = seen.call_id
        if seen.kind == f"{of}_chunk":
            begun[key] = begun.get(key, 0) + (key not in reading)
            reading.add(key)
            last[key] = seen
        elif seen.kind == "stream_close" and seen.data.get("of") == of:
            closed[key] = closed.get(key, 0) + 1
            if key not in reading:  # one without a chunk, or one closed twice
                begun[key] = begun.get(key, 0) + _ended(run, seen, of)
            reading.discard(key)
            last[key] = seen
    for key, seen in last.items():
        yield begun.get(key, 0), closed.get(key, 0), seen


def _ended(run: RunView, close: Observation, of: str) -> int:
    """Tell whether just before a close a stream ended that had no chunk."""
    ends = {"model_response", "model_error"} if of == "model" else {"tool_end"}
    before = [
        each
        for each in run.entries
        if each.seq < close.seq and each.call_id == close.call_id
    ]
    return int(bool(before) and before[-1].kind in ends)


_EMPTY: Final = re.compile(r"assistant:|tool\([^()]*\):")
_WRAPPERS: Final = frozenset(
    ("wrap_tool", "wrap_streamable", "struct_tool_wrappers", "tool_call_middlewares")
)


def tool_mode(case: PlayedWorld) -> Iterator[Decision]:
    """Decide how each tool was executed: by its kind, and if it has both by the run."""
    answered = _answered(case)
    for run, now in _iterations(case.played):
        for call in () if redirects(run.agent) else calls_of(now):
            name = name_of(call)
            kind = name and kind_of(run, call, name, answered=answered)
            if not kind:
                continue
            expected = "invoke" if kind == "invokable" else "stream"
            for start in call.starts:
                yield Decision(
                    "a tool's kind says how it is executed; with both, the run's mode",
                    expected,
                    start.data.get("mode"),
                    start,
                )


def wrapper_kind(case: PlayedWorld) -> Iterator[Decision]:
    """Decide which kind of wrapper each call goes through."""
    answered = _answered(case)
    for run, now in _iterations(case.played):
        if redirects(run.agent):
            continue
        for call in calls_of(now):
            name = name_of(call)
            kind = name and kind_of(run, call, name, answered=answered)
            for hook in call.hooks if kind else ():
                got = hook.name.rpartition(".")[2].removeprefix("wrap_")
                claim = "the wrappers entered are those of the kind of the call"
                yield Decision(claim, kind, got, hook.enter)


def no_wrapper_dropped(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether every streamable wrapper stood around a tool that streamed."""
    for run, now in _iterations(case.played):
        if redirects(run.agent):
            continue
        around = sorted(each.key for each in layers(run.agent, "streamable"))
        for call in calls_of(now):
            if not around or not call.starts or call.starts[0].data["mode"] != "stream":
                continue
            start = call.starts[0]
            got = sorted(
                (hook.extension, hook.position, hook.name)
                for hook in call.hooks
                if hook.enter.seq < start.seq
            )
            claim = "every streamable wrapper is entered before a tool streams"
            yield Decision(claim, around, got, start)


def model_mode(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the model is streamed just in a streaming run."""
    for run, now in _iterations(case.played):
        if now.response is None:
            continue
        streamed = any(each.kind == "model_chunk" for each in now.entries)
        if run.spec.streaming and not streamed and _without_chunks(now):
            continue
        claim = "the model is streamed in a streaming run, and invoked in any other"
        yield Decision(claim, run.spec.streaming, streamed, now.response)


def _without_chunks(now: Iteration) -> bool:
    """Tell whether the answer's script may have no chunk at all."""
    message = now.message
    return message is not None and message == Message("assistant")


def model_chunks(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the consumer got each chunk of an answer, in order, alone."""
    for run, now in _iterations(case.played):
        went_on = now is not run.iterations[-1] or run.status in SUCCESS
        begun = [each for each in now.entries if each.kind == "model_chunk"]
        if begun and went_on:
            claim = "a run that goes on has read the answer to its end"
            ended = now.response is not None or now.model_error is not None
            yield Decision(claim, expected=True, got=ended, at=begun[-1])
        expected = chunks.of_model(run.agent, now) if run.spec.streaming else None
        for event in now.model_events if expected is not None else ():
            yield Decision(
                "the consumer gets each chunk of the answer, in order and by itself",
                _filled(map(show_chunk, expected or ())),
                _filled(event.data.get("stream")),
                event,
            )


def tool_chunks(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the consumer got what the outermost wrapper's result holds."""
    for _, _, call, name, way in _calls(case):
        expected = chunks.of_tool(call, name, way) if way.kind == "streamable" else None
        for event in call.events if expected is not None else ():
            yield Decision(
                "the consumer gets each chunk of the result that the outermost"
                " wrapper returned, in order and by itself",
                _filled(_shown(each, call.id) for each in expected or ()),
                _filled(event.data.get("stream")),
                event,
            )


def model_stream_error(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the consumer saw an answer break off, once, in its stream."""
    for run, now in _iterations(case.played):
        broke = now.model_error
        streamed = any(each.kind == "model_chunk" for each in now.entries)
        if broke is None or not streamed or not run.spec.streaming:
            continue
        if chunks.of_model(run.agent, now) is None or run.agent.retry is not None:
            continue  # under a policy the error says whether it is asked again
        reported = [e.data.get("stream_error") for e in now.model_events]
        claim = "the stream of an answer that breaks off raises its error, once"
        yield Decision(claim, [broke.data.get("error")], reported, broke)


def tool_stream_error(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the consumer saw a result break off, once, in its stream."""
    at_once = case.profile.direct_event == "call_order"
    for _, now, call, name, way in _calls(case):
        broke = call.errors[-1] if call.errors else None
        chunked = any(each.kind == "tool_chunk" for each in call.entries)
        failed = fate(call, name, way)
        if broke is None or not chunked or failed is None or failed.handler is not None:
            continue
        reported = [each.data.get("stream_error") for each in call.events]
        # Among several calls its turn may come when it has failed already.
        alone = at_once and len(now.calls) == 1
        claim = "the stream of a result that breaks off raises its error, once"
        if reported or alone:
            yield Decision(claim, [failed.text], reported, broke)


def joined_answer(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the history holds the chunks of an answer joined."""
    for run, now in _iterations(case.played):
        given = chunks.of_model(run.agent, now) if run.spec.streaming else None
        seen = _next_look(run, now, answer=True)
        if not given or now.response is None or seen is None or _late(case, run, now):
            continue
        if run.left_around(now):
            continue
        found = [each for each in seen[0] if each.role == "assistant"]
        claim = "the history holds the chunks of an answer joined to one message"
        got = found[-1].content if found else None
        yield Decision(claim, _content(given), got, seen[1])


def joined_result(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the history holds the chunks of a result joined."""
    for run, now, call, name, way in _calls(case):
        given = chunks.of_tool(call, name, way) if way.kind == "streamable" else None
        seen = _next_look(run, now, answer=False)
        if given is None or seen is None or fate(call, name, way) is not None:
            continue
        found = [each for each in seen[0] if each.tool_call_id == call.id]
        if len(found) != 1 and run.status == "error":
            continue
        claim = "the history holds the chunks of a result joined to one message"
        got = [each.content for each in found][-1:]
        yield Decision(claim, ["".join(given)], got, seen[1])


def _next_look(
    run: RunView, now: Iteration, *, answer: bool
) -> tuple[Sequence[Message], Observation] | None:
    """Return the history where it is seen first after an answer, or after its tools."""
    if answer and now.after:
        return now.after[0].seen, now.after[0].enter
    later = run.iterations[now.number :]
    if later:
        hooks = [*later[0].before, *later[0].model_wraps]
        if hooks:
            return _messages(hooks[0]), hooks[0].enter
        if later[0].sent is not None and later[0].request is not None:
            return later[0].sent, later[0].request
        return None
    if run.end is None or run.status == "error" or (run.is_left and not answer):
        return None  # what a failed run hands back is nowhere laid down
    return run.final, run.end


def _messages(hook: HookView) -> Sequence[Message]:
    """Return the history that a model hook, or a model wrapper, was given."""
    wrap = hook.name == "wrap_model"
    return cast("Sequence[Message]", hook.seen["messages"] if wrap else hook.seen)


def _filled(shown: object) -> object:
    """Return chunks, as a trace shows them, without those that hold nothing.

    Whether an empty chunk is handed on matters to nobody, and engines differ.
    """
    if not isinstance(shown, Iterable) or isinstance(shown, str):
        return shown
    chunks = map(str, cast("Iterable[object]", shown))
    return [each for each in chunks if not _EMPTY.fullmatch(each)]


def _late(case: PlayedWorld, run: RunView, now: Iteration) -> bool:
    """Tell whether an apology may have taken the place of the answer."""
    last = now.number == run.agent.max_iterations
    return case.profile.exhaustion == "apology" and last


def _content(given: Sequence[MessageChunk]) -> str:
    return "".join(each.content for each in given)


def _shown(chunk: str, call_id: str) -> str:
    return show_message(Message("tool", chunk, tool_call_id=call_id))


def _iterations(view: View) -> Iterator[tuple[RunView, Iteration]]:
    for run in view.runs:
        for now in run.iterations:
            yield run, now


def _answered(case: PlayedWorld) -> bool:
    return case.profile.unknown_tool == "answered"


def _calls(
    case: PlayedWorld,
) -> Iterator[tuple[RunView, Iteration, Call, str, Passage]]:
    for run, now in _iterations(case.played):
        for call, name, way in passages(run, now, answered=_answered(case)):
            yield run, now, call, name, way


_TOOLS: Final = frozenset(("streamable_tools",))
_MODE: Final = frozenset(("streaming",))

CHECKS: Final = (
    Check(clause="STR-001", decide=tool_mode, needs=_TOOLS),
    Check(clause="STR-002", decide=wrapper_kind, needs=_TOOLS, any_of=_WRAPPERS),
    Check(clause="STR-003", decide=no_wrapper_dropped, needs=_TOOLS, any_of=_WRAPPERS),
    Check(clause="STR-004", decide=model_mode),
    Check(clause="STR-005", decide=model_chunks, needs=_MODE),
    Check(clause="STR-006", decide=tool_chunks, needs=_TOOLS),
    Check(clause="STR-007", decide=streams_closed),
    Check(clause="STR-008", decide=model_stream_error, needs=_MODE),
    Check(clause="STR-009", decide=tool_stream_error, needs=_TOOLS),
    Check(clause="STR-010", decide=joined_answer, needs=_MODE),
    Check(clause="STR-011", decide=joined_result, needs=_TOOLS),
    *modes.CHECKS,
)
