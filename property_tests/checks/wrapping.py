"""WRAP: what a wrapper may do, and what comes of it (contract §2 WRAP)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from property_tests.check import Check, Decide, Decision, PlayedWorld
from property_tests.checks import model_wrapping
from property_tests.checks.histories import turns
from property_tests.checks.model_onions import names_in, shown_result, text_of_tool
from property_tests.checks.onions import (
    CallOnion,
    EnteredWrapper,
    Execution,
    Mode,
    caught,
    edited,
    layers_of,
    onion_of,
    returned,
)
from property_tests.checks.passages import calls_next
from property_tests.checks.specs import tool_wraps, writes_options
from property_tests.remembering import each_once
from property_tests.view import Call, Iteration, RunView, View
from refengine.messages import ToolCall
from refengine.testing.scenario import AgentSpec

TOOL_WRAPS: Final = frozenset(
    ("wrap_tool", "wrap_streamable", "struct_tool_wrappers", "tool_call_middlewares")
)


@dataclass(frozen=True, slots=True)
class Called:
    """One call that a run was sent to, with what was seen of it."""

    run: RunView
    now: Iteration
    call: ToolCall
    seen: Call
    shown: bool
    """Whether the model was shown the tool, so that it has to be there."""


@each_once
def calls_of(view: View) -> Iterator[Called]:
    """Yield the calls that were run to their end, or till they failed.

    Two calls of one id cannot be told apart, and where the siblings of a failing call
    are cancelled nobody knows how far they came.
    """
    cancels = view.profile.failing_call == "siblings_cancelled"
    for run in view.runs:
        for turn in turns(view, run):
            if cancels and run.error is not None and len(turn.route.calls) > 1:
                continue
            names = names_in(turn.now)
            ids = [call.id for call in turn.route.calls]
            for call in turn.route.calls:
                seen = turn.now.calls.get(call.id)
                if seen is not None and ids.count(call.id) == 1:
                    yield Called(run, turn.now, call, seen, call.name in names)


@each_once
def onions(view: View) -> Iterator[tuple[Called, CallOnion]]:
    """Yield the onion of each call that has one."""
    for called in calls_of(view):
        found = onion_of(called.run.agent, called.seen, called.call)
        if found is not None and found.layers:
            yield called, found


def _frames(of: Callable[[EnteredWrapper], bool], claim: str) -> Decide:
    """Return a check of what the ``next`` of these wrappers leads to."""

    def decide(case: PlayedWorld) -> Iterator[Decision]:
        for called, onion in onions(case.played):
            for frame in onion.frames:
                if _is_open(called, frame):
                    continue
                if of(frame) and (_is_visible(called, onion, frame.at + 1)):
                    expected = [onion.name(frame.at + 1)] * frame.calls_next
                    yield Decision(
                        claim, expected, onion.named(frame.inner), frame.start
                    )

    return decide


def _is_open(called: Called, frame: EnteredWrapper) -> bool:
    """Tell whether a run was left while a wrapper was at work."""
    return frame.hook.exit is None and called.run.left_in(called.now)


def outermost(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a call enters the outermost wrapper, once."""
    for called, onion in onions(case.played):
        if _is_visible(called, onion, 0) and onion.roots:
            at = onion.roots[0].start
            claim = "a call goes to the outermost wrapper, once"
            yield Decision(claim, [onion.name(0)], onion.named(onion.roots), at)


def given(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the outermost wrapper is given the call as the model wrote it."""
    for called, onion in onions(case.played):
        for root in onion.roots:
            expected = {"tool": called.call.name, "arguments": called.call.arguments}
            claim = "the outermost wrapper is given the model's call"
            yield Decision(claim, expected, root.seen, root.start)


def _arguments(claim: str, *, changed: bool) -> Decide:
    """Return a check of the arguments that further in are given."""

    def decide(case: PlayedWorld) -> Iterator[Decision]:
        for _, onion in onions(case.played):
            for frame in onion.frames:
                own = frame.spec.rewrite_args
                if (own is not None) is not changed:
                    continue
                expected = frame.seen["arguments"] if own is None else own
                for inner in frame.inner:
                    yield Decision(
                        claim, expected, inner.seen["arguments"], inner.start
                    )
                    if _rewrites(inner):
                        break  # the input is one value: those after it see the change

    return decide


def _results(claim: str, *, of_tool: bool) -> Decide:
    """Return a check of what ``next`` gave a wrapper whose calls come in one piece."""

    def decide(case: PlayedWorld) -> Iterator[Decision]:
        for called, onion in onions(case.played):
            for frame in onion.frames:
                if onion.mode == "stream" or not frame.inner or not frame.calls_next:
                    continue
                if _is_open(called, frame):
                    continue
                inner = frame.inner[-1]
                text = returned(inner)
                if isinstance(inner, Execution) is of_tool and isinstance(text, str):
                    at = frame.hook.exit or frame.start
                    yield Decision(claim, edited(frame.spec, text), frame.hook.left, at)

    return decide


def without_next(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that nothing further in runs where a wrapper does not call ``next``."""
    for _, onion in onions(case.played):
        short = {f.at for f in onion.frames if not f.calls_next}
        calling = {f.at for f in onion.frames if f.calls_next}
        if not short - calling:
            continue
        at = min(short - calling)
        deeper: list[EnteredWrapper | Execution] = [
            f for f in onion.frames if f.at > at
        ]
        deeper += onion.executions
        frame = next(f for f in onion.frames if f.at == at)
        where = deeper[0].start if deeper else frame.start
        claim = "nothing further in runs without next"
        yield Decision(claim, [], onion.named(deeper), where)


def short_result(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that what a wrapper returns without ``next`` is the result from there."""
    claim = "what a wrapper returns without next is the result from there on"
    for called, onion in onions(case.played):
        for frame in onion.frames if onion.mode == "invoke" else ():
            text = _short(frame.inner[-1]) if frame.inner else None
            if text is not None:
                expected = edited(frame.spec, text)
                at = frame.hook.exit or frame.start
                yield Decision(claim, expected, frame.hook.left, at)
        text = _short(onion.roots[0]) if len(onion.roots) == 1 else None
        shown = _shown_text(called)
        if text is not None and shown is not None:
            yield Decision(claim, shown_result(text), shown, called.seen.events[0])


def _short(inner: EnteredWrapper | Execution) -> str | None:
    return inner.answer if isinstance(inner, EnteredWrapper) else None


def onion_result(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that what leaves the outermost wrapper is the result of the call."""
    for called, onion in onions(case.played):
        shown = _shown_text(called)
        if shown is not None and onion.result is not None:
            claim = "the result is what the outermost wrapper returned"
            expected = shown_result(onion.result)
            yield Decision(claim, expected, shown, called.seen.events[0])


def caught_error(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a wrapper around a failed call sees the exception that was raised."""
    for called, onion in onions(case.played):
        for frame in onion.frames:
            error = frame.inner[-1].raised if frame.inner else None
            text = None if error is None else caught(frame.spec, error)
            if text is None:
                continue
            claim = "next raises what was raised further in, and the wrapper catches it"
            at = frame.hook.exit or frame.start
            if onion.mode == "invoke":
                yield Decision(claim, text, frame.hook.left, at)
            else:
                left = frame.hook.exit is not None
                yield Decision(claim, expected=True, got=left, at=at)
                if len(onion.layers) == 1:
                    yield Decision(claim, shown_result(text), _shown_text(called), at)


def uncaught_error(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that an exception that a wrapper lets pass goes on outwards."""
    for called, onion in onions(case.played):
        for frame in onion.frames:
            error = frame.inner[-1].raised if frame.inner else None
            if error is None or caught(frame.spec, error) is not None:
                continue
            claim = "next raises what was raised further in; nothing is returned"
            left = frame.hook.exit is not None
            at = frame.hook.exit or frame.start
            yield Decision(claim, expected=False, got=left, at=at)
            if frame.at == 0 and called.seen.events:
                count = len(called.seen.events)
                claim = "a failed call has no result"
                yield Decision(claim, 0, count, called.seen.events[0])


def same_tool(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the tool that runs is the one that the model called."""
    for called in calls_of(case.played):
        renamed = any(
            s.set_input_name is not None for s in tool_wraps(called.run.agent)
        )
        for start in called.seen.starts if renamed else ():
            claim = "the tool that runs is the one that the model called"
            yield Decision(claim, called.call.name, start.data["name"], start)


def ignored_change(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a name or call id that was asked for in vain is recorded."""
    if case.profile.changed_call_id != "ignored":
        return
    claim = "what a wrapper asked for in vain is put down"
    for called, onion in onions(case.played):
        names = _requested_names(onion)
        if len(names) <= 1:
            expected = [{"name": name, "call_id": called.call.id} for name in names]
            got = _ignored(called.seen)
            yield Decision(claim, expected, got, called.seen.entries[-1])
    for called, new in _renumbered(case.played):
        if all(s.set_input_name is None for s in tool_wraps(called.run.agent)):
            expected = [{"name": called.call.name, "call_id": new}]
            got = _ignored(called.seen)
            yield Decision(claim, expected, got, called.seen.entries[-1])


def call_id(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a changed call id is ignored, told on the event, or taken over."""
    rule = case.profile.changed_call_id
    for called, new in _renumbered(case.played):
        own, every = called.call.id, called.now.calls.values()
        starts = [start for each in every for start in each.starts]
        if not starts:
            continue  # the tool was not reached, so there was nothing to take over
        expected = new if rule == "taken_over" else own
        claim = "the call id that the tool runs under"
        yield Decision(
            claim,
            [expected] * len(starts),
            [each.call_id for each in starts],
            starts[0],
        )
        leaks = rule == "leaks_into_event"
        own_input = case.profile.handler_input == "own"
        in_vain = leaks and own_input and not _by_factory(called.run.agent)
        expected = own if rule == "ignored" or in_vain else new
        for event in called.now.tool_events:
            yield Decision("the call id on the event", expected, event.call_id, event)


def tool_options(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the options of a run reach every tool as they are."""
    for run in case.played.runs:
        for now in () if writes_options(run.agent) else run.iterations:
            for call in now.calls.values():
                for start in call.starts:
                    got = start.data.get("options")
                    claim = "the run's options reach the tool"
                    yield Decision(claim, run.spec.options, got, start)


def _renumbered(view: View) -> Iterator[tuple[Called, str]]:
    """Yield calls that stand alone in their message, with the id a wrapper asked for.

    Only where one wrapper alone changes ids, and that of every call.
    """
    for called in calls_of(view):
        if len(called.now.message.tool_calls if called.now.message else ()) != 1:
            continue
        found = [s for s in tool_wraps(called.run.agent) if s.set_input_call_id]
        modes: tuple[Mode, Mode] = ("invoke", "stream")
        layers = [each for m in modes for each in layers_of(called.run.agent, m)]
        keys = {
            e.key for e in layers if e.spec.set_input_call_id and not e.spec.by_tool
        }
        entered = [
            hook
            for hook in called.seen.hooks
            if (hook.extension, hook.position, hook.name) in keys
        ]
        ids = {each.set_input_call_id or "" for each in found}
        inwards = all(map(calls_next, found))
        if entered and entered[0].exit and len(ids) == 1 and inwards:
            [new] = ids
            if new != called.call.id:
                yield called, new


def _by_factory(agent: AgentSpec) -> bool:
    """Tell whether a wrapper that changes call ids is not a handler's."""
    own = agent.model_copy(update={"handlers": []})
    return any(each.set_input_call_id for each in tool_wraps(own))


def _ignored(call: Call) -> list[dict[str, object]]:
    return [dict(e.data) for e in call.entries if e.kind == "ignored_change"]


def _is_visible(called: Called, onion: CallOnion, at: int) -> bool:
    """Tell whether a layer records that it was entered, if it was."""
    if at < len(onion.layers):
        return not onion.layers[at].may_not_be_made
    return called.shown


def _rewrites(inner: EnteredWrapper | Execution) -> bool:
    if isinstance(inner, Execution):
        return False
    return inner.spec.rewrite_args is not None or any(map(_rewrites, inner.inner))


def _shown_text(called: Called) -> str | None:
    """Return the text of the one event of a call, None if there is none."""
    if len(called.seen.events) != 1:
        return None
    return text_of_tool(called.seen.events[0])


def _requested_names(onion: CallOnion) -> list[str]:
    """Return the other names that wrappers which called ``next`` asked for."""
    names = (
        (frame.at, frame.spec.set_input_name)
        for frame in onion.frames
        if frame.calls_next and frame.spec.set_input_name is not None
    )
    found = dict.fromkeys(names)
    if len(found) == 1 and next(iter(found))[1] == onion.call.name:
        return []
    return [name for _, name in found]


def _calls_next_once(frame: EnteredWrapper) -> bool:
    return frame.calls_next == 1


def _calls_next_again(frame: EnteredWrapper) -> bool:
    return frame.calls_next > 1


MODEL: Final = frozenset(("wrap_model",))
OPTIONS: Final = frozenset(("run_options",))
CHECKS: Final = (
    Check(clause="WRAP-001", decide=outermost, any_of=TOOL_WRAPS),
    Check(clause="WRAP-002", decide=given, any_of=TOOL_WRAPS),
    Check(
        clause="WRAP-003",
        decide=_frames(_calls_next_once, "next leads once to what is next inside"),
        any_of=TOOL_WRAPS,
    ),
    Check(
        clause="WRAP-004",
        decide=without_next,
        any_of=TOOL_WRAPS,
    ),
    Check(clause="WRAP-005", decide=short_result, any_of=TOOL_WRAPS),
    Check(
        clause="WRAP-006",
        decide=_frames(_calls_next_again, "each next leads inside once more"),
        needs=frozenset(("next_twice",)),
        any_of=TOOL_WRAPS,
    ),
    Check(
        clause="WRAP-007",
        decide=_arguments("arguments go inwards as they are", changed=False),
        any_of=TOOL_WRAPS,
    ),
    Check(
        clause="WRAP-008",
        decide=_arguments("changed arguments go inwards", changed=True),
        any_of=TOOL_WRAPS,
    ),
    Check(
        clause="WRAP-009",
        decide=_results("next gives the tool's result", of_tool=True),
        any_of=TOOL_WRAPS,
    ),
    Check(
        clause="WRAP-010",
        decide=_results("next gives what the wrapper inside left", of_tool=False),
        needs=frozenset(("several_handlers",)),
        any_of=TOOL_WRAPS,
    ),
    Check(clause="WRAP-011", decide=onion_result, any_of=TOOL_WRAPS),
    Check(clause="WRAP-012", decide=caught_error, any_of=TOOL_WRAPS),
    Check(clause="WRAP-013", decide=uncaught_error, any_of=TOOL_WRAPS),
    Check(clause="WRAP-014", decide=same_tool, any_of=TOOL_WRAPS),
    Check(clause="WRAP-015", decide=call_id, any_of=TOOL_WRAPS),
    Check(clause="WRAP-016", decide=ignored_change, any_of=TOOL_WRAPS),
    Check(clause="WRAP-017", decide=tool_options, needs=OPTIONS),
    Check(clause="WRAP-018", decide=model_wrapping.options, needs=OPTIONS),
    Check(clause="WRAP-019", decide=model_wrapping.nesting, needs=MODEL),
    Check(clause="WRAP-020", decide=model_wrapping.messages, needs=MODEL),
    Check(clause="WRAP-021", decide=model_wrapping.tools, needs=MODEL),
    Check(clause="WRAP-022", decide=model_wrapping.answers, needs=MODEL),
    Check(clause="WRAP-023", decide=model_wrapping.changed_answer, needs=MODEL),
)
