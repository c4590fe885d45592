"""What raised in a run and how it ended, read from a trace and the scenario's data.

A hook that was entered and not left has raised: the hooks of a world wait for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from property_tests.checks.passages import (
    Passage,
    PassageLayer,
    PassageStep,
    calls_next,
    origin,
)
from property_tests.view import Call, HookView, RunView, View
from refengine.testing.ops import Fail, Op
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation

STRUCT_HOOKS: Final = frozenset(("before_chat_model", "after_chat_model"))
PIPELINES: Final = STRUCT_HOOKS | {
    "before_agent",
    "before_model",
    "after_model",
    "after_agent",
}


def ops_of(agent: AgentSpec, hook: HookView) -> Sequence[Op]:
    """Return the operations of a pipeline's hook; none for any other."""
    if hook.name in STRUCT_HOOKS:
        if not 0 <= hook.position < len(agent.middlewares):
            return ()
        found: object = getattr(agent.middlewares[hook.position], hook.name)
    elif hook.name in PIPELINES and 0 <= hook.position < len(agent.handlers):
        found = getattr(origin(agent, hook.position)[1], hook.name)
    else:
        found = None
    return cast("Sequence[Op]", found) if isinstance(found, tuple) else ()


class Due:
    """Which operations of a hook it is the turn of (``on_call``).

    One that is entered again does what it did, and objects that are made anew for a
    run count from one again.
    """

    def __init__(self, view: View) -> None:
        self._ops: dict[int, list[Op]] = {}
        counted: Counter[tuple[int, str, int, int]] = Counter()
        rebuilt = [run.number for run in view.runs if run.spec.rebuild]
        for index, agent, hook in _hooks(view):
            made = sum(number <= hook.enter.run for number in rebuilt)
            who = index, hook.name, hook.position, made
            counted[who] += hook.enter.data.get("reentry") is not True
            self._ops[id(hook.enter)] = [
                op for op in ops_of(agent, hook) if op.on_call in (None, counted[who])
            ]

    def of(self, hook: HookView) -> Sequence[Op]:
        """Return the operations that this entering of a hook does, in order."""
        return self._ops.get(id(hook.enter), ())

    def failure(self, hook: HookView) -> str | None:
        """Return the text of the error that it raises, None if it raises none."""
        return next((op.text for op in self.of(hook) if isinstance(op, Fail)), None)


def _hooks(view: View) -> Iterator[tuple[int, AgentSpec, HookView]]:
    """Yield the hooks of pipelines as they were entered, with their agent."""
    for index, hooks in enumerate(built_by_agent(view)):
        for hook in hooks:
            yield index, view.scenario.all_agents[index], hook
    for run in view.runs:
        found = [*run.before_agent, *run.after_agent]
        for now in run.iterations:
            found += [*now.before, *now.after]
        for hook in sorted(found, key=lambda each: each.enter.seq):
            yield run.spec.agent, run.agent, hook


def built_by_agent(view: View) -> list[list[HookView]]:
    """Return the hooks that ran at build, agent by agent."""
    built = [each.seq for each in view.build if each.kind == "build"]
    found: list[list[HookView]] = [[] for _ in view.scenario.all_agents]
    for hook in view.built:
        index = sum(seq < hook.enter.seq for seq in built)
        if index < len(found):
            found[index].append(hook)
    return found


def pipeline_hooks(run: RunView) -> list[HookView]:
    """Return the hooks of a run's pipelines, as they were entered."""
    found = [*run.before_agent, *run.after_agent]
    for now in run.iterations:
        found += [*now.before, *now.after]
    return sorted(found, key=lambda each: each.enter.seq)


@dataclass(frozen=True, slots=True)
class Failed:
    """What ends a call with an error: the error's text, and whose it is.

    ``handler`` is the position of the one whose wrapper could not be made; ``wrapper``
    is the layer that raised when it was called. If both are None, the tool raised.
    """

    text: str
    handler: int | None = None
    wrapper: PassageLayer | None = None


def fate(call: Call, name: str, way: Passage) -> Failed | None:
    """Return what leaves a call's onion as an error; None if nothing does.

    Also None where the trace does not tell, as for a call that was cancelled.
    """
    if not way.steps:
        return _inside(call, name, way, None)
    outermost = [step for step in way.steps if step.outer is None][-1]
    if outermost.raised:
        return raised_by(call, name, way, outermost)
    return _in_stream(call, way)


def raised_by(call: Call, name: str, way: Passage, step: PassageStep) -> Failed | None:
    """Return what leaves a layer as an error: its own, or what was raised inside."""
    own = step.layer.acting(name).error
    if own is not None:
        return Failed(own, wrapper=step.layer)
    return raised_in(call, name, way, step)


def raised_in(call: Call, name: str, way: Passage, step: PassageStep) -> Failed | None:
    """Return what was raised inside a layer, by the last call of its ``next``."""
    if not calls_next(step.layer.acting(name)):
        return None
    if not step.inner:
        return _inside(call, name, way, step)
    last = step.inner[-1]
    if isinstance(last, PassageStep):
        return raised_by(call, name, way, last) if last.raised else None
    return _by_tool(call, last)


def _inside(
    call: Call, name: str, way: Passage, step: PassageStep | None
) -> Failed | None:
    """Return what was raised where no further layer was entered."""
    depth = 0 if step is None else step.depth + 1
    if depth < len(way.layers):
        layer = way.layers[depth]
        text = layer.factory_error(name)
        return None if text is None else Failed(text, layer.position)
    if step is None and call.starts:
        return _by_tool(call, call.starts[-1]) or _in_stream(call, way)
    return None


def _by_tool(call: Call, start: Observation) -> Failed | None:
    """Return what an execution raised at once; None if it got on."""
    for seen in call.entries:
        if seen.seq <= start.seq or seen.kind == "effect":
            continue
        if seen.kind == "tool_error":
            return Failed(str(seen.data.get("error")))
        return None
    return None


def _in_stream(call: Call, way: Passage) -> Failed | None:
    """Return what a result's stream raised, after the wrappers had returned it."""
    if way.kind != "streamable":
        return None
    chunked = False
    for seen in call.entries:
        chunked = chunked or seen.kind == "tool_chunk"
        if seen.kind == "tool_error" and chunked:
            return Failed(str(seen.data.get("error")))
    return None
