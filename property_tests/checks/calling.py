"""Which tool calls an iteration asks for, and how its batch of calls ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from property_tests.checks import positions
from property_tests.checks.phases import Setup, hidden, offered
from property_tests.checks.routes import next_route
from property_tests.checks.specs import hides_once, limit
from property_tests.view import Iteration, RunView
from refengine.messages import Message, ToolCall
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation


def offers(agent: AgentSpec, setup: Setup) -> list[str]:
    """Return the names of the tools that a model request offers, in order."""
    taken = {name for names in hidden(agent) for name in names}
    return [each.name for each in setup.shown if each.name not in taken]


def is_known(
    name: str, now: Iteration, agent: AgentSpec, setup: Setup, profile: Profile
) -> bool:
    """Tell whether a call of that name finds its tool.

    Which requests a wrapper takes a tool out of is another clause's matter: where it
    does so in one only, what this request offered counts.
    """
    if name not in setup.runnable:
        return False
    if profile.hidden_tool == "runs" or not hidden(agent):
        return True
    if hides_once(agent) and now.request is not None:
        return name in offered(now.request)
    return name in offers(agent, setup)


def calls_once(agent: AgentSpec, setup: Setup, profile: Profile) -> bool:
    """Tell whether an agent without tools calls the model once and ends."""
    if setup.default or setup.runnable or profile.without_tools == "loop":
        return False
    wraps = positions.around_tool(agent, "invokable") or positions.around_tool(
        agent, "streamable"
    )
    return profile.without_tools == "single_call" or not wraps


def requested_calls(
    run: RunView, now: Iteration, setup: Setup, profile: Profile
) -> tuple[ToolCall, ...] | None:
    """Return the calls that an iteration runs, in order; none if it runs none.

    None comes back where nothing says so: the response, or what the after-hooks left,
    is not there.
    """
    if now.message is None:
        return None
    expected = positions.after_model(run.agent, profile)
    if not expected:
        late = profile.exhaustion == "apology" and now.number == limit(run.agent)
        none = late or calls_once(run.agent, setup, profile)
        return () if none else now.message.tool_calls
    last = now.after[-1] if now.after else None
    if last is None or len(now.after) < len(expected) or last.exit is None:
        return None
    if calls_once(run.agent, setup, profile):
        return ()
    left = cast("Sequence[Message]", last.left)
    return next_route(profile, now.message, left, hooked=True).calls


def went_on(run: RunView, now: Iteration) -> bool:
    """Tell whether a run came past the calls of an iteration without an error."""
    if now is not run.iterations[-1]:
        return True
    exhausted = run.failed_as == "MaxIterationsExceededError"
    return exhausted or run.status in {
        "returned_directly",
        "max_iterations",
        "completed",
    }


def ended(run: RunView, now: Iteration) -> str:
    """Return how a run went on after an iteration that asked for calls."""
    if now is not run.iterations[-1] or run.status in {"max_iterations", "error"}:
        return "goes on"
    return str(run.status)


def one_each(calls: Iterable[ToolCall]) -> bool:
    """Tell whether no two calls have one id, so that entries tell them apart."""
    ids = [each.id for each in calls]
    return len(set(ids)) == len(ids)


def history_after(
    run: RunView, now: Iteration
) -> tuple[Sequence[Message], Observation] | None:
    """Return the history as it was after the calls of an iteration, if it was seen."""
    if now is run.iterations[-1]:
        if run.end is None or run.status == "error":
            return None
        return run.final, run.end
    then = run.iterations[now.number]
    hooks = [*then.before, *then.model_wraps]
    if hooks:
        seen = hooks[0].seen
        messages = seen["messages"] if hooks[0].name == "wrap_model" else seen
        return cast("Sequence[Message]", messages), hooks[0].enter
    if then.request is None or then.sent is None:
        return None
    return then.sent, then.request
