"""What the history of a run has to be at each point where a world sees it.

The walk goes from point to point. What is expected at each follows from what was seen
at the point before, so one wrong step is one wrong decision and not all that follow.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from property_tests.checks import specs
from property_tests.checks.model_onions import answer_of
from property_tests.checks.onions import is_ambiguous, onion_of
from property_tests.checks.routes import Route, configuring, has_after_hooks, route_of
from property_tests.remembering import each_once
from property_tests.view import HookView, Iteration, RunView, View
from refengine.messages import Message, ToolCall
from refengine.testing.notation import decoded
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation

Label: TypeAlias = Literal[
    "system", "given", "left", "sent", "kept", "response", "after", "results"
]
PointKind: TypeAlias = Literal["model side", "after", "end"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a history, named by where it comes from."""

    label: Label
    messages: Sequence[Message]
    unknown: frozenset[int] = frozenset()
    """Places of results whose text, or whose call id, nothing tells."""

    def fitted(self, got: Sequence[Message]) -> Sequence[Message]:
        """Return the messages; an engine's own are asked for no more than is stated."""
        if self.label != "results":
            return self.messages
        pairs = zip(self.messages, got, strict=False)
        known = [self._fitted(at, *pair) for at, pair in enumerate(pairs)]
        return [*known, *self.messages[len(known) :]]

    def _fitted(self, at: int, expected: Message, got: Message) -> Message:
        expected = replace(expected, id=got.id, extra=got.extra)
        if at not in self.unknown:
            return expected
        return replace(expected, content=got.content, tool_call_id=got.tool_call_id)


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One place where a history was seen: of what it has to be made, what it was."""

    kind: PointKind
    segments: tuple[Segment, ...]
    got: Sequence[Message]
    at: Observation

    def parts(self) -> Iterator[tuple[Segment, Sequence[Message], Sequence[Message]]]:
        """Yield each segment with what is expected and what was seen in its place.

        What is too much counts to the last one; where a system message, or what was
        kept before a response, stands first, to that.
        """
        first = self.segments[0].label
        front = first == "system" or (first == "kept" and self.kind == "after")
        rest = self.segments[1:] if front else self.segments
        at = 0
        if front:
            at = max(0, len(self.got) - sum(len(each.messages) for each in rest))
            yield self.segments[0], self.segments[0].messages, self.got[:at]
        for number, segment in enumerate(rest, 1):
            end = len(self.got) if number == len(rest) else at + len(segment.messages)
            got = self.got[at:end]
            yield segment, segment.fitted(got), got
            at = end


@dataclass(frozen=True, slots=True)
class Continuation:
    """How one iteration went on: its answer, what was left, and where that leads."""

    now: Iteration
    response: Message
    left: Sequence[Message]
    route: Route


Segments: TypeAlias = tuple[Segment, ...]
HistoryStep: TypeAlias = "HistoryPoint | Continuation"


@each_once
def walk(view: View, run: RunView) -> Iterator[HistoryStep]:
    """Yield every point of a run, and after each answer where the run has to go.

    It ends where nothing tells how the history goes on, as after an error.
    """
    system = system_of(view, run)
    if system is None:
        return
    in_history = view.profile.instruction_place == "in_history"
    todo: Segments = (Segment("given", run.given),)
    if in_history:
        todo = (Segment("system", system), *todo)
    for now in run.iterations:
        front = () if in_history else (Segment("system", system),)
        kept = yield from _until_model(view, now, todo, front)
        response = response_of(view, run, now)
        if kept is None or response is None:
            return
        left = yield from _after_model(now, kept, response)
        if left is None:
            return
        messages = [each for part in left for each in part.messages]
        route = route_of(view, run, response, messages)
        yield Continuation(now, response, messages, route)
        todo = left
        if route.kind == "calls":
            todo = (*left, results_of(view, run, now, route.calls))
    if run.status in {"completed", "returned_directly", "max_iterations"}:
        yield HistoryPoint("end", todo, run.final, cast("Observation", run.end))


@each_once
def points(view: View) -> Iterator[HistoryPoint]:
    """Yield every point of all runs."""
    for run in view.runs:
        yield from (each for each in walk(view, run) if isinstance(each, HistoryPoint))


@each_once
def turns(view: View, run: RunView) -> Iterator[Continuation]:
    """Yield how each iteration of a run has to go on."""
    yield from (each for each in walk(view, run) if isinstance(each, Continuation))


def system_of(view: View, run: RunView) -> tuple[Message, ...] | None:
    """Return the system message of a run, or none; None if nothing tells.

    What ``before_agent`` hooks left is seen; without any the text is the instruction
    and what struct middlewares add to it.
    """
    hooks = configuring(view, run)
    due = sum(each.before_agent is not None for each in run.agent.handlers)
    if hooks and hooks[-1].exit is not None:
        text = str(hooks[-1].left["instruction"])
    elif hooks or due:
        return None
    else:
        text = instruction_of(view, run.agent)
    return (Message("system", text),) if text else ()


def instruction_of(view: View, agent: AgentSpec) -> str:
    """Return the instruction with what struct middlewares add."""
    profile = view.profile
    separator = "\n" if profile.separator == "newline" else "\n\n"
    text = decoded(agent.instruction)
    for each in agent.middlewares:
        addition = each.additional_instruction
        if not addition and profile.empty_addition == "skipped":
            continue
        bare = profile.empty_base == "replaced" and not text
        text = addition if bare else text + separator + addition
    return text


def response_of(view: View, run: RunView, now: Iteration) -> Message | None:
    """Return the answer of an iteration; None if it failed, or is the engine's own."""
    answer = answer_of(run.agent, now)
    late = now.number >= specs.limit(run.agent) and not has_after_hooks(run.agent)
    if answer is None or (view.profile.exhaustion == "apology" and late):
        return None if answer is None or answer.tool_calls else answer
    return answer


def results_of(
    view: View, run: RunView, now: Iteration, calls: Sequence[ToolCall]
) -> Segment:
    """Return the tool messages of these calls, in their order."""
    texts = [result_of(run, now, calls, call) for call in calls]
    messages = [
        Message("tool", text or "", tool_call_id=call.id, name=call.name)
        for call, text in zip(calls, texts, strict=True)
    ]
    unknown = {at for at, text in enumerate(texts) if text is None}
    if view.profile.changed_call_id == "taken_over" and is_ambiguous(run.agent):
        unknown = set(range(len(calls)))
    return Segment("results", messages, frozenset(unknown))


def result_of(
    run: RunView, now: Iteration, calls: Sequence[ToolCall], call: ToolCall
) -> str | None:
    """Return the text of a call's result; None if nothing tells it."""
    if sum(each.id == call.id for each in calls) > 1:
        return None
    seen = now.calls.get(call.id)
    if seen is None or not (seen.hooks or seen.starts or seen.events):
        answers = run.agent.unknown_tools_handler is not None
        return run.agent.answer_for(call.name, call.arguments) if answers else None
    onion = onion_of(run.agent, seen, call)
    return None if onion is None else onion.result


def _until_model(
    view: View, now: Iteration, todo: Segments, front: Segments
) -> Generator[HistoryPoint, None, Sequence[Message] | None]:
    """Go through the before-hooks to the model; return what is kept, None if nothing.

    What is sent comes behind the system message where that stands in no history.
    """
    this_call = view.profile.before_model_edits == "this_call"
    for hook in now.before:
        yield HistoryPoint("model side", todo, hook.seen, hook.enter)
        if hook.exit is None:
            return None
        todo = (Segment("left", hook.left),)
    whole: Sequence[Message] = now.before[0].seen if now.before else ()
    if now.before:
        left: Sequence[Message] = now.before[-1].left
        todo = (Segment("sent", left if left or not this_call else whole),)
    first = _first_request(now)
    if first is None:
        return None
    yield HistoryPoint("model side", (*front, *todo), *first)
    if now.before:
        return whole if this_call else now.before[-1].left
    system = front[0].messages if front else ()
    return first[0][len(system) :]


def _after_model(
    now: Iteration, kept: Sequence[Message], response: Message
) -> Generator[HistoryPoint, None, Segments | None]:
    """Go through the after-hooks; return what is left, None if one of them raised."""
    todo: Segments = (Segment("kept", kept), Segment("response", (response,)))
    hook: HookView | None = None
    for hook in now.after:
        yield HistoryPoint("after", todo, hook.seen, hook.enter)
        if hook.exit is None:
            return None
        todo = (Segment("left", hook.left),)
    return todo if hook is None else (Segment("after", hook.left),)


def _first_request(now: Iteration) -> tuple[Sequence[Message], Observation] | None:
    """Return what the outermost wrapper, or the model, was asked with."""
    if now.model_wraps:
        hook = now.model_wraps[0]
        return hook.seen["messages"], hook.enter
    if now.request is None:
        return None
    return cast("Sequence[Message]", now.sent), now.request
