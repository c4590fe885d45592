"""Where a run has to go after the model answered: by the profile, from what was left.

The same rules as the contract's (MSG, and the postures ``route``,
``after_leaves_none``, ``without_tools``), stated once more and from data alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from property_tests.checks import specs
from property_tests.checks.model_onions import answer_of
from property_tests.remembering import each_once
from property_tests.view import HookView, Iteration, RunView, View
from refengine.messages import Message, ToolCall
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec

Kind: TypeAlias = Literal["calls", "completed", "asked again", "refused"]


@dataclass(frozen=True, slots=True)
class Route:
    """Where it goes: to these calls, to the end, to the model again, or to an error."""

    kind: Kind
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Continuation:
    """How one iteration went on: where the answer, and what was left, lead."""

    now: Iteration
    route: Route


@each_once
def turns(view: View, run: RunView) -> Iterator[Continuation]:
    """Yield how each iteration of a run has to go on, up to one that failed."""
    for now in run.iterations:
        response = response_of(view, run, now)
        if response is None or (now.after and now.after[-1].exit is None):
            return
        left = now.after[-1].left if now.after else (response,)
        yield Continuation(now, route_of(view, run, response, left))


def response_of(view: View, run: RunView, now: Iteration) -> Message | None:
    """Return the answer of an iteration; None if it failed, or is the engine's own."""
    answer = answer_of(run.agent, now)
    late = now.number >= specs.limit(run.agent) and not has_after_hooks(run.agent)
    if answer is None or (view.profile.exhaustion == "apology" and late):
        return None if answer is None or answer.tool_calls else answer
    return answer


def route_of(
    view: View, run: RunView, response: Message, left: Sequence[Message]
) -> Route:
    """Return where a run goes, given the response and what is left of the history."""
    if calls_once(view, run):
        return _of_single_call(view.profile, left)
    hooked = has_after_hooks(run.agent)
    return next_route(view.profile, response, left, hooked=hooked)


def next_route(
    profile: Profile, response: Message, left: Sequence[Message], *, hooked: bool
) -> Route:
    """Return where a run with tools goes; ``hooked`` if anything acts after a model."""
    if not left and profile.after_leaves_none != "ignored":
        return _none_left(profile)
    if profile.route == "model_response":
        return _by_response(response, left)
    last = left[-1] if left else response
    if profile.route == "last_left":
        return _to(last.tool_calls if last.role == "assistant" else ())
    return _by_results(profile, left) if hooked else _to(response.tool_calls)


def has_after_hooks(agent: AgentSpec) -> bool:
    """Tell whether any extension acts after the model."""
    return any(each.after_chat_model for each in agent.middlewares) or any(
        each.after_model is not None for each in agent.handlers
    )


def configuring(view: View, run: RunView) -> list[HookView]:
    """Return the ``before_agent`` hooks that a run goes by, wherever they ran."""
    if view.profile.before_agent == "run":
        return run.before_agent
    ends = [each.seq for each in view.build if each.kind == "build"]
    at = run.spec.agent
    start = ends[at - 1] if 0 < at <= len(ends) else -1
    end = ends[at] if at < len(ends) else start
    return [hook for hook in view.built if start < hook.enter.seq < end]


def has_tools(view: View, run: RunView) -> bool:
    """Tell whether the agent has tools, by whatever means."""
    agent = run.agent
    if agent.tools or any(each.additional_tools for each in agent.middlewares):
        return True
    hooks = configuring(view, run)
    left: Any = hooks[-1].left if hooks else None
    return left is not None and bool(left["tools"])


def calls_once(view: View, run: RunView) -> bool:
    """Tell whether the run is one model call and its end, as an agent without tools."""
    rule = view.profile.without_tools
    if rule == "loop" or has_tools(view, run):
        return False
    return rule == "single_call" or not any(specs.tool_wraps(run.agent))


def _of_single_call(profile: Profile, left: Sequence[Message]) -> Route:
    """Complete, unless the profile looks for what was left and finds nothing."""
    if profile.route == "last_left" and not left:
        return _none_left(profile)
    return Route("completed")


def _none_left(profile: Profile) -> Route:
    return Route("refused" if profile.after_leaves_none == "error" else "completed")


def _to(calls: Iterable[ToolCall]) -> Route:
    todo = tuple(calls)
    return Route("calls", todo) if todo else Route("completed")


def _by_response(response: Message, left: Sequence[Message]) -> Route:
    """Route by the response, but take the calls from what the hooks left last."""
    if not response.tool_calls:
        return Route("completed")
    if not left or left[-1].role != "assistant" or not left[-1].tool_calls:
        return Route("refused")
    return _to(left[-1].tool_calls)


def _by_results(profile: Profile, left: Sequence[Message]) -> Route:
    """Route to those calls of the last assistant message that have no result."""
    answers = [at for at, each in enumerate(left) if each.role == "assistant"]
    if not answers:
        return _none_left(profile)
    calls = left[answers[-1]].tool_calls
    since = profile.route == "unanswered_since"
    among = left[answers[-1] :] if since else left
    done = {each.tool_call_id for each in among if each.role == "tool"}
    todo = [call for call in calls if call.id not in done]
    again = bool(calls) if since else left[-1].role == "tool"
    return Route("asked again") if not todo and again else _to(todo)
