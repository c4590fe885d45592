"""What takes the place of the engine's own where it is wrong about tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeAlias

from property_tests.mutants.patching import Patch
from refengine.batch import UnknownCall
from refengine.binding import Binder
from refengine.call import AbsentCall, AbsentTool
from refengine.errors import ToolNotFound
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest
from refengine.model_onion import ModelOnion
from refengine.plan import AgentConfig, Plan, Planner
from refengine.profile import choosing
from refengine.react import Loop
from refengine.scope import Scope
from refengine.toolfold import ToolFold
from refengine.tools import ToolInfo, ToolMeta

Right: TypeAlias = Callable[..., Any]
Metas: TypeAlias = "list[ToolMeta]"


def planned(change: Callable[[Plan], Plan]) -> Patch:
    """Change what the before_agent phase leaves."""

    def replaced(right: Right) -> Right:
        async def plan(self: Planner, *given: Any) -> Plan:
            return change(await right(self, *given))

        return plan

    return Patch(Planner, "plan", replaced)


def sorted_by_name(left: Plan) -> Plan:
    """Sort the tools that are shown."""
    shown = sorted(left.shown, key=lambda info: info.name)
    return replace(left, shown=tuple(shown))


def names_only(left: Plan) -> Plan:
    """Show no more than names."""
    return replace(left, shown=tuple(ToolInfo(info.name) for info in left.shown))


def added_first(right: Right) -> Right:
    """Put the tools of structs first."""
    return lambda self, configured, added: right(self, added, configured)


def configured_only(right: Right) -> Right:
    """Leave out the tools of structs."""
    return lambda self, configured, _: right(self, configured, [])


def at_the_last(_: Right) -> Right:
    """Put each name where its last tool stands."""

    def normalise(metas: Iterable[ToolMeta]) -> Metas:
        found: dict[str, ToolMeta] = {}
        for meta in metas:
            found.pop(meta.name, None)
            found[meta.name] = meta
        return list(found.values())

    return normalise


def not_folded(_: Right) -> Right:
    """Keep all entries."""
    return list


def first_kept(_: Right) -> Right:
    """Keep the first tool of each name."""

    def normalise(metas: Iterable[ToolMeta]) -> Metas:
        found: dict[str, ToolMeta] = {}
        for meta in metas:
            found.setdefault(meta.name, meta)
        return list(found.values())

    return normalise


def first_stays(right: Right) -> Right:
    """Append only tools of names that are not there yet."""

    def append(self: ToolFold, metas: Sequence[ToolMeta]) -> None:
        right(self, [meta for meta in metas if meta.name not in self._index])

    return append


def structs_last(right: Right) -> Right:
    """Add the tools of structs when the handlers have been asked."""

    async def plan(self: Planner, *given: Any) -> Plan:
        left: Plan = await right(self, *given)
        later = [
            ToolMeta(tool)
            for each in self._extensions.middlewares
            for tool in each.struct.additional_tools
        ]
        return _with_tools(left, later)

    return plan


def default_for_all(right: Right) -> Right:
    """Show each handler the same tools, and do what it does to them to the rest."""

    async def enter(
        self: Planner, name: Any, hook: Any, ctx: Any, config: AgentConfig, fold: Any
    ) -> Any:
        before, default = config.tools, self.default_tools()
        config.tools = list(default)
        left = await right(self, name, hook, ctx, config, fold)
        added = [meta for meta in config.tools if meta not in default]
        gone = _names(default) - _names(config.tools)
        config.tools = [m for m in before if m.name not in gone | _names(added)] + added
        return left

    return enter


def no_fold(right: Right) -> Right:
    """Keep all entries that a handler leaves."""

    def update(self: ToolFold, left: Sequence[Any]) -> Any:
        self._one_entry = False
        return right(self, left)

    return update


def nothing_gone(right: Right) -> Right:
    """Say that no name was removed."""
    return lambda self, left: (right(self, left)[0], [])


def resolving(posture: str, option: str) -> Patch:
    """Resolve what handlers left under another posture."""

    def replaced(right: Right) -> Right:
        def resolve(self: Planner, *given: Any) -> Plan:
            own, self._profile = self._profile, choosing(self._profile, posture, option)
            left: Plan = right(self, *given)
            self._profile = own
            return left

        return resolve

    return Patch(Planner, "_resolve", replaced)


def default_shown_only(right: Right) -> Right:
    """Show no tool that handlers added."""

    def resolve(
        self: Planner, ctx: Any, config: Any, default: Metas, *more: Any
    ) -> Plan:
        left: Plan = right(self, ctx, config, default, *more)
        shown = [info for info in left.shown if info.name in _names(default)]
        return replace(left, shown=tuple(shown))

    return resolve


def removed_shown(right: Right) -> Right:
    """Show the tools that handlers removed, too."""

    def resolve(
        self: Planner, ctx: Any, config: Any, default: Metas, *more: Any
    ) -> Plan:
        left: Plan = right(self, ctx, config, default, *more)
        names = {info.name for info in left.shown}
        gone = [meta.tool.info for meta in default if meta.name not in names]
        return replace(left, shown=(*left.shown, *gone))

    return resolve


def removed_run(right: Right) -> Right:
    """Let the tools that handlers removed run."""

    def resolve(
        self: Planner, ctx: Any, config: Any, default: Metas, *more: Any
    ) -> Plan:
        left: Plan = right(self, ctx, config, default, *more)
        gone = [m for m in default if m.name not in _names(left.runnable)]
        return replace(left, runnable=(*left.runnable, *gone))

    return resolve


def null_taken(right: Right) -> Right:
    """Take null for no tools."""

    def settle(self: Planner, name: Any, config: AgentConfig, fold: Any) -> None:
        config.tools = config.tools or []
        right(self, name, config, fold)

    return settle


def offered_once(right: Right) -> Right:
    """Offer tools until there is a result."""

    async def bare(
        self: Any, ctx: Any, messages: Sequence[Message], tools: Any, options: Any
    ) -> Any:
        results = any(message.role == "tool" for message in messages)
        return await right(self, ctx, messages, () if results else tools, options)

    return bare


def piling_up(right: Right) -> Right:
    """Start the next run with the tools of this one."""

    async def plan(self: Planner, *given: Any) -> Plan:
        left: Plan = await right(self, *given)
        self._config = replace(self._config, tools=left.runnable)
        return left

    return plan


_ASKED: ContextVar[ModelRequest] = ContextVar("asked")


def remembering(right: Right) -> Right:
    """Remember a request as it was before any wrapper saw it."""

    def call(self: ModelOnion, *, streaming: bool) -> Any:
        inner = right(self, streaming=streaming)

        async def outer(ctx: Any, request: ModelRequest) -> Any:
            _ASKED.set(request)
            return await inner(ctx, request)

        return outer

    return call


def all_offered(right: Right) -> Right:
    """Offer the tools of the request that was remembered."""

    async def innermost(self: ModelOnion, ctx: Any, request: ModelRequest) -> Any:
        return await right(self, ctx, replace(request, tools=_ASKED.get().tools))

    return innermost


def default_bound(right: Right) -> Right:
    """Do not bind tools that handlers added."""

    def for_run(self: Binder, plan: Plan) -> Any:
        names = _names(plan.registered)
        return {n: tool for n, tool in right(self, plan).items() if n in names}

    return for_run


def first_called(right: Right) -> Right:
    """Call the tool of the first call for all of them."""

    def batch_of(self: Loop, calls: Sequence[ToolCall], ctx: Any) -> Any:
        calls = [replace(each, name=calls[0].name) for each in calls]
        return right(self, calls, ctx)

    return batch_of


def nothing_hidden(_: Right) -> Right:
    """Let every tool be known."""
    return lambda *_: False


def answered(right: Right) -> Right:
    """Tell the model of an unknown tool, and go on."""

    def run_of(self: Loop, call: ToolCall, bound: Any) -> Any:
        try:
            return right(self, call, bound)
        except ToolNotFound:
            return _absent(self, call, f"There is no {call.name}.")

    return run_of


def wrapped(right: Right) -> Right:
    """Send what unknown_tools_handler answers through the wrappers."""

    def run_of(self: Loop, call: ToolCall, bound: Any) -> Any:
        run = right(self, call, bound)
        unknown = isinstance(run, UnknownCall)
        return _absent(self, call, run.text) if unknown else run

    return run_of


def name_told(right: Right) -> Right:
    """Give the name of the tool for the result."""
    return lambda self, call, _: right(self, call, lambda name, _: name)


def fail_late(right: Right) -> Right:
    """Run the calls whose tools are there before the unknown one ends the run."""

    def batch_of(self: Loop, calls: Sequence[ToolCall], ctx: Any) -> Any:
        try:
            return right(self, calls, ctx)
        except ToolNotFound as error:
            known = [call for call in calls if call.name in self._bound]
            return _Late(right(self, known, ctx), error)

    return batch_of


class _Late:
    """A batch that fails in the end."""

    def __init__(self, batch: Any, error: Exception) -> None:
        self._batch = batch
        self._error = error

    async def next_event(self) -> Any:
        event = await self._batch.next_event()
        if event is None:
            raise self._error
        return event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)


class _Answer(AbsentTool):
    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, ())
        self._text = text


def _absent(loop: Loop, call: ToolCall, text: str) -> AbsentCall:
    tool = loop._machine.binder.bound(ToolMeta(_Answer(call.name, text)))
    scope = Scope(loop._run_path, loop._locals, tool, call.id, loop._follows)
    return AbsentCall(call, tool, scope, loop._options)


def _with_tools(left: Plan, later: Sequence[ToolMeta]) -> Plan:
    return replace(
        left,
        shown=(*left.shown, *(meta.tool.info for meta in later)),
        runnable=(*left.runnable, *later),
    )


def _names(metas: Iterable[ToolMeta]) -> set[str]:
    return {meta.name for meta in metas}
