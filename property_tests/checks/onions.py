"""The onion of one tool call, as it was seen and as its wrappers' specs make it.

Which wrapper entered within which is read from the trace; what each hands on inwards
and returns outwards is computed from its spec, never by running an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from property_tests.checks.specs import keeps_ids
from property_tests.view import Call, HookView
from refengine.messages import ToolCall
from refengine.testing.scenario import AgentSpec, ToolWrapSpec
from refengine.testing.trace import Observation

Mode: TypeAlias = Literal["invoke", "stream"]
Key: TypeAlias = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class CallWrapper:
    """One wrapper around tool calls: whose it is, and what it does."""

    key: Key
    spec: ToolWrapSpec


@dataclass(slots=True)
class Execution:
    """One execution of the tool, or of what stands in its place."""

    start: Observation
    end: Observation | None = None
    error: Observation | None = None
    chunks: list[str] = field(default_factory=list[str])

    @property
    def raised(self) -> str | None:
        """What it raised before it gave a result or a stream of it."""
        if self.error is None or self.chunks:
            return None
        return str(self.error.data["error"])


@dataclass(slots=True)
class EnteredWrapper:
    """One wrapper while it was entered, and what its ``next`` led to."""

    at: int
    hook: HookView
    spec: ToolWrapSpec
    """Its own, or the one it has for the tool that it was asked for."""
    inner: list[EnteredWrapper | Execution] = field(
        default_factory=list["EnteredWrapper | Execution"]
    )

    @property
    def answer(self) -> str | None:
        """What it returns without ``next``, None if it returns nothing by itself."""
        return self.spec.short_circuit if self.spec.error is None else None

    @property
    def raised(self) -> str | None:
        """What went outwards through it, if nothing came back and it is known."""
        if self.hook.exit is not None:
            return None
        if self.spec.error is not None:
            return self.spec.error
        if not self.inner:
            return None
        return self.inner[-1].raised


@dataclass(slots=True)
class CallOnion:
    """All wrappers and executions of one call."""

    call: ToolCall
    mode: Mode
    layers: Sequence[CallWrapper]
    roots: list[EnteredWrapper | Execution] = field(
        default_factory=list["EnteredWrapper | Execution"]
    )

    @property
    def result(self) -> str | None:
        """The result of the call, None if it failed or nothing tells."""
        if len(self.roots) != 1:
            return None
        [root] = self.roots
        if self.mode == "invoke":
            left = returned(root)
            return left if isinstance(left, str) else None
        chunks = _streamed(root)
        return None if chunks is None else "".join(chunks)


def layers_of(agent: AgentSpec, mode: Mode) -> tuple[CallWrapper, ...]:
    """Return the wrappers around a call of that mode, outermost first."""
    kind: Literal["invokable", "streamable"]
    kind = "invokable" if mode == "invoke" else "streamable"
    found: list[CallWrapper] = []
    for at, spec in enumerate(agent.tool_call_middlewares):
        who = spec.id or f"tool-middleware-{at}"
        found.append(CallWrapper((who, at, f"tool_call_middlewares.{kind}"), spec))
    for at, struct in enumerate(agent.middlewares):
        wrap = getattr(struct.wrap_tool_call, kind)
        if wrap is not None:
            who = struct.id or f"middleware-{at}"
            found.append(CallWrapper((who, at, f"wrap_tool_call.{kind}"), wrap))
    for at, handler in enumerate(agent.handlers):
        wrap = getattr(handler, f"wrap_{kind}")
        if wrap is not None:
            who = handler.id or f"handler-{at}"
            found.append(CallWrapper((who, at, f"wrap_{kind}"), wrap))
    return tuple(found)


def onion_of(agent: AgentSpec, seen: Call, call: ToolCall) -> CallOnion | None:
    """Read the onion of a call; None if nothing was seen of it, or it is ambiguous.

    It is where one handler stands at two places, and where a wrapper changes the call
    id, under which all that is further in is recorded.
    """
    mode = _mode(seen)
    if mode is None or is_ambiguous(agent):
        return None
    found = CallOnion(call, mode, layers_of(agent, mode))
    _Reader(found, seen).read()
    return found


def is_ambiguous(agent: AgentSpec) -> bool:
    """Tell whether entries of wrappers may not be told apart by layer and call."""
    twice = any(handler.same_as is not None for handler in agent.handlers)
    return twice or changes_call_id(agent)


def changes_call_id(agent: AgentSpec) -> bool:
    """Tell whether a wrapper changes the call id of its input."""
    return not keeps_ids(agent)


def returned(inner: EnteredWrapper | Execution) -> object:
    """Return what was given outwards in one piece, None if nothing was."""
    if isinstance(inner, EnteredWrapper):
        return inner.hook.left
    return None if inner.end is None else inner.end.data["result"]


def caught(spec: ToolWrapSpec, error: str) -> str | None:
    """Return what a wrapper makes of an error, None if it lets it pass."""
    if spec.catch_error is None:
        return None
    return spec.catch_error.replace("<error>", error)


def effective(spec: ToolWrapSpec, tool: object) -> ToolWrapSpec:
    """Return what a wrapper does for a tool: all, or what it has for that one."""
    while (own := spec.by_tool.get(str(tool))) is not None:
        spec = own
    return spec


class _Reader:
    """Puts the entries of a call into its onion."""

    def __init__(self, found: CallOnion, call: Call) -> None:
        self._found = found
        self._call = call
        self._open: list[EnteredWrapper] = []
        self._last: Execution | None = None
        self._at = {layer.key: at for at, layer in enumerate(found.layers)}
        self._hooks = {hook.enter.seq: hook for hook in call.hooks}

    def read(self) -> None:
        for seen in self._call.entries:
            if seen.kind == "hook_enter":
                self._enter(seen)
            elif seen.kind == "hook_exit":
                self._exit(seen)
            elif seen.kind == "tool_start":
                self._last = Execution(seen)
                self._within().append(self._last)
            elif self._last is not None:
                _put(self._last, seen)

    def _within(self) -> list[EnteredWrapper | Execution]:
        return self._open[-1].inner if self._open else self._found.roots

    def _enter(self, seen: Observation) -> None:
        hook = self._hooks[seen.seq]
        at = self._at.get((hook.extension, hook.position, hook.name))
        if at is None:
            return
        # Whoever is as far in, or further, is no longer open: it raised.
        while self._open and self._open[-1].at >= at:
            self._open.pop()
        claim: Any = hook.seen
        spec = effective(self._found.layers[at].spec, claim["tool"])
        frame = EnteredWrapper(at, hook, spec)
        self._within().append(frame)
        self._open.append(frame)

    def _exit(self, seen: Observation) -> None:
        for depth in range(len(self._open) - 1, -1, -1):
            if self._open[depth].hook.exit is seen:
                del self._open[depth:]
                return


def _put(execution: Execution, seen: Observation) -> None:
    if seen.kind == "tool_end":
        execution.end = seen
    elif seen.kind == "tool_error":
        execution.error = seen
    elif seen.kind == "tool_chunk":
        execution.chunks.append(str(seen.data["chunk"]))


def _streamed(inner: EnteredWrapper | Execution) -> Sequence[str] | None:
    """Return the chunks that come out of a frame, None if that is not known."""
    if isinstance(inner, Execution):
        return None if inner.error is not None else inner.chunks
    if inner.hook.exit is None:
        return None
    if inner.answer is not None:
        return (inner.answer,)
    return _streamed_through(inner.spec, inner.inner[-1]) if inner.inner else None


def _streamed_through(
    spec: ToolWrapSpec, inner: EnteredWrapper | Execution
) -> Sequence[str] | None:
    """Return what a wrapper makes of the chunks, or the error, of what is inside."""
    if inner.raised is not None:
        text = caught(spec, inner.raised)
        return None if text is None else (text,)
    fixed = spec.set_stream if spec.set_result is None else (spec.set_result,)
    if fixed is not None:
        return fixed
    chunks = _streamed(inner)
    return None if chunks is None else _edited_chunks(spec, chunks)


def _edited_chunks(spec: ToolWrapSpec, chunks: Sequence[str]) -> Sequence[str]:
    """Put the prefix on the first chunk, and each into the template."""
    if spec.prefix_result:
        first, *rest = chunks or ("",)
        chunks = (spec.prefix_result + first, *rest)
    template = spec.map_result
    if template is None:
        return chunks
    return [template.replace("<result>", chunk) for chunk in chunks]


def _mode(call: Call) -> Mode | None:
    if call.hooks:
        streams = call.hooks[0].name.endswith("streamable")
        return "stream" if streams else "invoke"
    if call.starts:
        return cast("Mode", call.starts[0].data["mode"])
    return None
