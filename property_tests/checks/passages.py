"""Passages: how calls of tools went through the layers that a scenario puts there.

Streaming, errors and context are all decided along one path: which wrapper stood
inside which, what the innermost one reached, and what came back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from property_tests.checks.specs import all_tools, tool_wraps
from property_tests.remembering import Rereadable, kept_in
from property_tests.view import Call, HookView, Iteration, RunView
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import AgentSpec, HandlerSpec, ToolWrapSpec
from refengine.testing.trace import Observation

Kind: TypeAlias = Literal["invokable", "streamable"]
LayerKey: TypeAlias = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class PassageLayer:
    """One extension's wrapper around tool calls of one kind, as a trace names it."""

    extension: str
    position: int
    hook: str
    spec: ToolWrapSpec

    @property
    def key(self) -> LayerKey:
        """What tells it from the other layers."""
        return self.extension, self.position, self.hook

    def acting(self, tool: str) -> ToolWrapSpec:
        """Return the wrap that acts on a tool: its own, if it has one."""
        spec = self.spec
        while tool in spec.by_tool:
            spec = spec.by_tool[tool]
        return spec

    def factory_error(self, tool: str) -> str | None:
        """Return the error with which a handler's wrapper is made for a call.

        That of the tool's own wrap comes first. None for a struct's: its factory is
        called at another time.
        """
        if "." in self.hook:
            return None
        own = self.spec.by_tool.get(tool)
        return (own.factory_error if own else None) or self.spec.factory_error


@dataclass(slots=True)
class PassageStep:
    """One layer that a call entered: around which others, and what it reached."""

    layer: PassageLayer
    depth: int
    hook: HookView
    outer: PassageStep | None = None
    inner: list[PassageStep | Observation] = field(
        default_factory=list["PassageStep | Observation"]
    )

    @property
    def raised(self) -> bool:
        """Whether an exception left it."""
        return self.hook.exit is None


@dataclass(frozen=True, slots=True)
class Passage:
    """A call's way through its onion. ``starts`` are executions of the tool."""

    kind: Kind
    layers: tuple[PassageLayer, ...]
    steps: tuple[PassageStep, ...]
    starts: tuple[tuple[Observation, PassageStep | None], ...]


def calls_next(spec: ToolWrapSpec) -> bool:
    """Tell whether a wrapper calls ``next``: it neither raises nor answers itself."""
    return spec.error is None and spec.short_circuit is None


def origin(agent: AgentSpec, at: int) -> tuple[int, HandlerSpec]:
    """Return the position and spec of the object at a handler's position."""
    spec = agent.handlers[at]
    while spec.same_as is not None:
        at = spec.same_as
        spec = agent.handlers[at]
    return at, spec


def layers(agent: AgentSpec, kind: Kind) -> tuple[PassageLayer, ...]:
    """Return the layers around calls of that kind: tools config, structs, handlers."""
    return (*_config(agent, kind), *_structs(agent, kind), *_handlers(agent, kind))


def _config(agent: AgentSpec, kind: Kind) -> Iterator[PassageLayer]:
    for at, spec in enumerate(agent.tool_call_middlewares):
        name = spec.id or f"tool-middleware-{at}"
        yield PassageLayer(name, at, f"tool_call_middlewares.{kind}", spec)


def _structs(agent: AgentSpec, kind: Kind) -> Iterator[PassageLayer]:
    for at, struct in enumerate(agent.middlewares):
        wraps = struct.wrap_tool_call
        spec = wraps.invokable if kind == "invokable" else wraps.streamable
        if spec is not None:
            name = struct.id or f"middleware-{at}"
            yield PassageLayer(name, at, f"wrap_tool_call.{kind}", spec)


def _handlers(agent: AgentSpec, kind: Kind) -> Iterator[PassageLayer]:
    for number in range(len(agent.handlers)):
        at, handler = origin(agent, number)
        spec = handler.wrap_streamable
        if kind == "invokable":
            spec = handler.wrap_invokable
        if spec is not None:
            hook = f"wrap_{kind}"
            yield PassageLayer(handler.id or f"handler-{at}", at, hook, spec)


def redirects(agent: AgentSpec) -> bool:
    """Tell whether a wrapper changes the id or name of a call on its way inwards.

    Wrappers further in then go by what they are given, which is another family's law.
    """
    wraps = list(tool_wraps(agent))
    names = any(each.set_input_name is not None for each in wraps)
    return any(each.set_input_call_id is not None for each in wraps) or (
        names and any(each.by_tool for each in wraps)
    )


def kind_of(run: RunView, call: Call, name: str, *, answered: bool) -> Kind | None:
    """Return the kind of wrapper that a call goes through; None if none can tell.

    Of several tools of one name the one that ran counts. ``answered`` tells that a
    tool which is not there is called too (posture ``unknown_tool``): then, if none ran,
    the wrappers that were entered tell.
    """
    found = [each for each in all_tools(run.agent) if _named(each.name, name)]
    if call.starts:
        ran = {str(start.data.get("implementation")) for start in call.starts}
        reported = [each for each in found if any(_named(_shown(each), x) for x in ran)]
        found = reported or found
    elif answered:
        return _entered(call)
    streaming = run.spec.streaming
    kinds: set[Kind] = {_wrapped(each, streaming=streaming) for each in found}
    return kinds.pop() if len(kinds) == 1 else None


def _entered(call: Call) -> Kind | None:
    """Return the kind of the wrappers that a call entered; None if it entered none."""
    kinds: set[Kind] = {
        "streamable" if hook.name.endswith("streamable") else "invokable"
        for hook in call.hooks
    }
    return kinds.pop() if len(kinds) == 1 else None


def _shown(tool: ToolSpec) -> str:
    return tool.result or "".join(tool.chunks)


def _named(template: str, got: str) -> bool:
    """Tell whether a text of a scenario, which may hold the run's number, is that."""
    if template == got or "<run>" not in template:
        return template == got
    return any(template.replace("<run>", str(n)) == got for n in range(1, 10))


def _wrapped(tool: ToolSpec, *, streaming: bool) -> Kind:
    streams = tool.kind == "streamable" or (tool.kind == "both" and streaming)
    return "streamable" if streams else "invokable"


def name_of(call: Call) -> str | None:
    """Return the tool that a call is for, by what was asked or what ran."""
    if call.call is not None:
        return call.call.name
    return str(call.starts[0].data.get("name")) if call.starts else None


def calls_of(now: Iteration) -> list[Call]:
    """Return the calls of an iteration, none if two of a message share an id.

    One that a hook gave another tool under the id it had is left out.
    """
    calls = now.message.tool_calls if now.message else ()
    if now.after and now.after[-1].left:
        calls = now.after[-1].left[-1].tool_calls or calls
    if any(number > 1 for number in Counter(each.id for each in calls).values()):
        return []
    names = {each.id: each.name for each in calls}
    return [each for each in now.calls.values() if _is_named_so(each, names)]


def _is_named_so(call: Call, names: Mapping[str, str]) -> bool:
    return call.call is None or names.get(call.id, call.call.name) == call.call.name


def passages(
    run: RunView, now: Iteration, *, answered: bool
) -> Iterator[tuple[Call, str, Passage]]:
    """Yield each call of an iteration with its tool and its way, where it is plain."""
    yield from kept_in(
        now, (passages, answered), lambda: Rereadable(_passages(run, now, answered))
    )


def _passages(
    run: RunView, now: Iteration, answered: bool
) -> Iterator[tuple[Call, str, Passage]]:
    if redirects(run.agent):
        return
    for call in calls_of(now):
        name = name_of(call)
        if name is None:
            continue
        kind = kind_of(run, call, name, answered=answered)
        way = None if kind is None else _passage(call, kind, layers(run.agent, kind))
        if way is not None:
            yield call, name, way


def _passage(
    call: Call, kind: Kind, around: tuple[PassageLayer, ...]
) -> Passage | None:
    depths = {layer.key: depth for depth, layer in enumerate(around)}
    if len(depths) < len(around):
        return None  # one object twice: which of its layers an entry means, none knows
    reader = _Reader(call, around, depths)
    for seen in call.entries:
        if not reader.take(seen):
            return None
    return Passage(kind, around, tuple(reader.steps), tuple(reader.starts))


class _Reader:
    """Nests the entries of one call."""

    def __init__(
        self, call: Call, around: tuple[PassageLayer, ...], depths: dict[LayerKey, int]
    ) -> None:
        self._hooks = {id(hook.enter): hook for hook in call.hooks}
        self._around = around
        self._depths = depths
        self._within: list[PassageStep] = []
        self.steps: list[PassageStep] = []
        self.starts: list[tuple[Observation, PassageStep | None]] = []

    def take(self, seen: Observation) -> bool:
        """Take the next entry; False for a hook that is not a layer."""
        if seen.kind == "tool_start":
            outer = self._within[-1] if self._within else None
            self.starts.append((seen, outer))
            if outer is not None:
                outer.inner.append(seen)
        if seen.kind not in {"hook_enter", "hook_exit"}:
            return True
        depth = self._depths.get(_layer_key(seen))
        if depth is None:
            return False
        while self._within and self._within[-1].depth >= depth:
            self._within.pop()
        if seen.kind == "hook_enter":
            self._enter(depth, seen)
        return True

    def _enter(self, depth: int, seen: Observation) -> None:
        outer = self._within[-1] if self._within else None
        step = PassageStep(self._around[depth], depth, self._hooks[id(seen)], outer)
        if outer is not None:
            outer.inner.append(step)
        self._within.append(step)
        self.steps.append(step)


def _layer_key(seen: Observation) -> LayerKey:
    data = seen.data
    return str(data["extension"]), int(str(data["position"])), str(data["hook"])
