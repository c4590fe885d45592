"""Who takes part in what: the hooks that a scenario's extensions have, as data.

A check compares with it which hooks were entered. Extensions stand as their entries in
a trace name them: label and position in their list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from property_tests.checks.passages import origin
from property_tests.checks.specs import keeps_ids
from property_tests.remembering import each_once
from property_tests.view import Call, HookView, Iteration, RunView, View
from refengine.testing.scenario import AgentSpec, HandlerSpec

Who: TypeAlias = tuple[str, int]
"""Label and position of an extension."""

PIPELINES: Final = ("before_agent", "before_model", "after_model", "after_agent")
STRUCT_FIELDS: Final = ("before_chat_model", "after_chat_model")
HANDLER_WRAPS: Final = ("wrap_invokable", "wrap_streamable")
HANDLER_HOOKS: Final = (*PIPELINES, "wrap_model", *HANDLER_WRAPS)
SUCCESS: Final = frozenset(("completed", "returned_directly"))
ENDS: Final = SUCCESS | {"max_iterations"}
"""The ends of a run in which no hook failed."""


@dataclass(frozen=True, slots=True)
class CompletePass:
    """One time that a pipeline or an onion was gone through to its end.

    ``hooks`` are the hooks it is made of, outermost or first ones first.
    """

    hooks: tuple[str, ...]
    entered: Sequence[HookView]
    agent: AgentSpec
    kind: str


def structs_with(agent: AgentSpec, hook: str) -> list[Who]:
    """Return the struct middlewares that have a callback or wrapper, in order."""
    return [
        (each.id or f"middleware-{at}", at)
        for at, each in enumerate(agent.middlewares)
        if (
            bool(getattr(each, hook))
            if hook in STRUCT_FIELDS
            else getattr(each.wrap_tool_call, hook.partition(".")[2]) is not None
        )
    ]


def handlers_with(agent: AgentSpec, hook: str) -> list[Who]:
    """Return the handlers that have a hook, in order; an object as often as it stands.

    A handler that a scenario gives no hook takes part in ``before_agent``.
    """
    objects = (origin(agent, each) for each in range(len(agent.handlers)))
    return [
        (spec.id or f"handler-{at}", at)
        for at, spec in objects
        if hook in hooks_of(spec)
    ]


def hooks_of(handler: HandlerSpec) -> frozenset[str]:
    """Return the hooks that a handler of a world has."""
    given = {hook for hook in HANDLER_HOOKS if getattr(handler, hook) is not None}
    return frozenset(given or {"before_agent"})


def tool_layers(agent: AgentSpec, kind: str) -> list[tuple[str, Who]]:
    """Return the layers around a tool of that kind, outermost first, with their hook.

    ``kind`` is "invokable" or "streamable".
    """
    config, struct = f"tool_call_middlewares.{kind}", f"wrap_tool_call.{kind}"
    own = [
        (each.id or f"tool-middleware-{at}", at)
        for at, each in enumerate(agent.tool_call_middlewares)
    ]
    wrap = f"wrap_{kind}"
    return [
        *((config, who) for who in own),
        *((struct, who) for who in structs_with(agent, struct)),
        *((wrap, who) for who in handlers_with(agent, wrap)),
    ]


def who(hook: HookView) -> Who:
    """Return the extension whose hook was entered."""
    return hook.extension, hook.position


def all_hooks(agent: AgentSpec) -> frozenset[tuple[str, Who]]:
    """Return every hook that there is in an agent, each with its extension."""
    found = {(f, each) for f in STRUCT_FIELDS for each in structs_with(agent, f)}
    found |= {(h, each) for h in HANDLER_HOOKS for each in handlers_with(agent, h)}
    layers = (tool_layers(agent, kind) for kind in ("invokable", "streamable"))
    return frozenset(found.union(*layers))


@each_once
def passes(view: View) -> Iterator[CompletePass]:
    """Yield the passes of pipelines and of the model onion that came to their end.

    A pass that an error stopped is none: its later hooks had no turn.
    """
    yield from _building(view)
    for run in view.runs:
        yield from _of_run(run, view.profile.after_agent == "on_success")
        for now in run.iterations:
            yield from _of_iteration(run, now)


def _building(view: View) -> Iterator[CompletePass]:
    """Yield the passes at build, one an agent that was built."""
    if view.profile.before_agent != "build":
        return
    hooks = list(view.built)
    built = [each for each in view.build if each.kind == "build"]
    for agent, done in zip(view.scenario.all_agents, built, strict=False):
        entered = [each for each in hooks if each.enter.seq < done.seq]
        hooks = hooks[len(entered) :]
        yield CompletePass(("before_agent",), entered, agent, "before_agent")


def _of_run(run: RunView, after_agent: bool) -> Iterator[CompletePass]:
    if run.before_agent and run.iterations:
        yield CompletePass(
            ("before_agent",), run.before_agent, run.agent, "before_agent"
        )
    if after_agent and run.status in SUCCESS:
        yield CompletePass(("after_agent",), run.after_agent, run.agent, "after_agent")


def _of_iteration(run: RunView, now: Iteration) -> Iterator[CompletePass]:
    if now.request is not None or now.model_wraps:
        hooks = ("before_chat_model", "before_model")
        yield CompletePass(hooks, now.before, run.agent, "before_model")
    if now.request is not None:
        yield CompletePass(("wrap_model",), now.model_wraps, run.agent, "wrap_model")
    later = now is not run.iterations[-1]
    if now.response is not None and (now.calls or later or run.status in ENDS):
        hooks = ("after_chat_model", "after_model")
        yield CompletePass(hooks, now.after, run.agent, "after_model")


def calls_reached(run: RunView) -> Iterator[tuple[Call, str]]:
    """Yield the calls that reached their tool, and the kind of onion around them.

    None where a wrapper changes the id of a call: the hooks inside of it are then seen
    under another one.
    """
    if not keeps_ids(run.agent):
        return
    for now in run.iterations:
        for call in now.calls.values():
            kind = _kind(call)
            if kind is not None:
                yield call, kind


def _kind(call: Call) -> str | None:
    """Return the kind of onion that a call went through, as its hooks tell.

    A call without hooks went through the one that fits how the tool was executed.
    """
    if not call.starts:
        return None
    for kind in ("invokable", "streamable"):
        if any(hook.name.endswith(kind) for hook in call.hooks):
            return kind
    mode = call.starts[0].data.get("mode")
    return "invokable" if mode == "invoke" else "streamable"
