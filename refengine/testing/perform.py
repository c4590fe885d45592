"""Doing the operations of a hook, one after the other, and putting down what they ask.

A ``Hook`` is one hook of one extension: it counts how often it ran (``on_call``) and
keeps what ``keep_messages`` kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Protocol, TypeVar, cast

from refengine.context import (
    Context,
    delete_run_local,
    get_run_local,
    set_run_local,
)
from refengine.errors import NoRunLocalError
from refengine.hooks import AgentConfig
from refengine.interrupts import Interrupt, interrupt, is_reentry
from refengine.messages import Json, Message
from refengine.struct_middleware import ChatModelAgentState
from refengine.testing import ops
from refengine.testing.notation import parse_message, show_message
from refengine.testing.recorder import Recorder
from refengine.testing.scripted import scripted_error
from refengine.tools import Tool, ToolMeta

R = TypeVar("R")
UNSET = "-"
MISSING = object()


class Surroundings(Protocol):
    """What extensions need of their world."""

    recorder: Recorder
    factory_calls: int

    def numbered(self, text: str) -> str:
        """Put the number of the run where ``<run>`` stands."""
        ...

    def of_run(self, spec: ops.ToolSpec) -> ops.ToolSpec:
        """Return the spec with the number of the run where ``<run>`` stands."""
        ...

    def tool(self, spec: ops.ToolSpec) -> Tool:
        """Return a recording tool that does what the spec says."""
        ...

    def state_number(self, state: ChatModelAgentState) -> int:
        """Return which state object of struct middlewares this is, from 1."""
        ...


@dataclass(slots=True)
class Extension:
    """What the hooks of one extension object share."""

    world: Surroundings
    label: str
    in_place: bool = False
    kept: Sequence[Message] = ()
    runs: Counter[str] = field(default_factory=Counter[str])
    stops: Counter[int] = field(default_factory=Counter[int])
    blocked: bool = False
    shape: str = ""

    def due(self, hook: str, todo: Sequence[ops.Op]) -> Sequence[ops.Op]:
        """Count this run of a hook; return the operations that it is the turn of.

        A hook that is entered again does what it did the first time: it is counted
        once. What stands after an operation that blocks is never done.
        """
        if not is_reentry():
            self.runs[hook] += 1
        count = self.runs[hook]
        found = [op for op in todo if op.on_call in (None, count)]
        done = list(takewhile(lambda op: not isinstance(op, ops.Block), found))
        self.blocked = len(done) < len(found)
        return done

    @property
    def waits(self) -> bool:
        """Whether ``rest`` does anything: nearly never, so ask before it is awaited."""
        return self.blocked or self.world.recorder.cancelled

    async def rest(self) -> None:
        """Wait after the operations of a hook: for good if one blocks."""
        blocked, self.blocked = self.blocked, False
        if blocked:
            await self.world.recorder.block()
        await self.world.recorder.breathe()

    def left(self, ctx: Context, right: R) -> R:
        """Return what a hook gives back: what it should, unless it was told else."""
        shape, self.shape = self.shape, ""
        return cast("R", _shaped(shape, ctx, right)) if shape else right

    def stop(self, spec: ops.Interrupts | ops.InterruptSpec) -> None:
        """Raise Interrupt the first ``times`` times that this object comes here."""
        self.stops[id(spec)] += 1
        if spec.times == "always" or self.stops[id(spec)] <= spec.times:
            raise Interrupt(spec.info)

    def ask(self, hook: str, ctx: Context, op: ops.Ask) -> Json:
        """Ask, put down the answer and return it; raises Interrupt."""
        answer, entry = answered(op.payload)
        self.note(hook, entry, ctx.tool_call_id)
        return answer

    def note(
        self, at: str, entry: Mapping[str, object], call_id: str | None = None
    ) -> None:
        """Put down an entry of this extension."""
        self.world.recorder.note({"at": at, "by": self.label, **entry}, call_id)


def _shaped(shape: str, ctx: Context, right: object) -> object:
    """Return what a hook gives back that was told of a shape."""
    if shape == "nothing":
        return None
    if shape == "context":
        return ctx
    if shape == "no_messages":
        return ctx, None
    if isinstance(right, tuple):  # "own_context", with what belongs to it
        return Context(), *cast("tuple[object, ...]", right)[1:]
    return Context()


def answered(payload: Json) -> tuple[Json, dict[str, object]]:
    """Ask, and return the answer and an entry that tells both; raises Interrupt."""
    answer = interrupt(payload)
    return answer, {"asked": payload, "answer": answer}


def perform_config(
    me: Extension, ctx: Context, config: AgentConfig, todo: Sequence[ops.Op]
) -> Context:
    """Do the operations of ``before_agent``."""
    for op in me.due("before_agent", todo):
        if isinstance(op, ops.RecordOp):
            me.note("before_agent", _seen_config(ctx, config))
        elif isinstance(op, ops.AppendInstruction):
            text = me.world.numbered(op.text)
            alone = op.if_base_empty == "replace" and not config.instruction
            before = "" if alone or op.instead else config.instruction + op.sep
            config.instruction = before + text
        else:
            ctx = _perform_tools(me, ctx, config, op)
    return ctx


def _perform_tools(
    me: Extension, ctx: Context, config: AgentConfig, op: ops.Op
) -> Context:
    tools: Sequence[ToolMeta] = config.tools or ()
    if isinstance(op, ops.AppendTools):
        _append(me, config, op)
    elif isinstance(op, ops.RemoveTool):
        _leave(me, config, [meta for meta in tools if meta.name != op.name])
    elif isinstance(op, ops.SetTools):
        if op.value is not None:
            _leave(me, config, [])
            return ctx
        # null has no place in the engine's types; what it does is a posture.
        config.tools = cast("list[ToolMeta]", None)
    elif isinstance(op, ops.SetReturnDirectly):
        name = me.world.numbered(op.name)
        _set_flags(me, config, {name: op.value}, {name})
    elif isinstance(op, ops.ReplaceReturnDirectly):
        names = {meta.name for meta in tools} | set(config.return_directly or {})
        _set_flags(me, config, op.value or {}, names)
    else:
        return perform_any(me, "before_agent", ctx, op)
    return ctx


def _append(me: Extension, config: AgentConfig, op: ops.AppendTools) -> None:
    """Add tools, whose flag is where the engine keeps flags: on them, or in its map."""
    flag = op.return_directly
    on_tool = flag if config.return_directly is None else None
    made = [
        ToolMeta(me.world.tool(me.world.of_run(spec)), on_tool) for spec in op.tools
    ]
    _leave(me, config, [*(config.tools or ()), *made])
    if flag is not None and on_tool is None:
        names = {meta.name for meta in made}
        _set_flags(me, config, dict.fromkeys(names, flag), names)


def _leave(me: Extension, config: AgentConfig, tools: list[ToolMeta]) -> None:
    """Leave these tools: in the list that is there, or in another one.

    There is none after a handler that left null.
    """
    there = cast("list[ToolMeta] | None", config.tools)
    if me.in_place and there is not None:
        there[:] = tools
    else:
        config.tools = tools


def _set_flags(
    me: Extension,
    config: AgentConfig,
    flags: Mapping[str, bool],
    names: AbstractSet[str],
) -> None:
    """Set the flags of these names, where the engine keeps them; others are unset."""
    there = config.return_directly
    if there is None:
        tools = [
            replace(meta, return_directly=flags.get(meta.name))
            if meta.name in names
            else meta
            for meta in config.tools
        ]
        _leave(me, config, tools)
        return
    left = {**{k: v for k, v in there.items() if k not in names}, **flags}
    if me.in_place:
        there.clear()
        there.update(left)
    else:
        config.return_directly = left


def config_of(config: AgentConfig) -> dict[str, object]:
    """Return a configuration as a handler sees it, for the trace."""
    tools: Sequence[ToolMeta] = config.tools or ()
    flags = config.return_directly
    if flags is None:
        set_ = {m.name: m.return_directly for m in tools}
        flags = {name: flag for name, flag in set_.items() if flag is not None}
    return {
        "instruction": config.instruction,
        "tools": [meta.name for meta in tools],
        "return_directly": dict(flags),
    }


def _seen_config(ctx: Context, config: AgentConfig) -> dict[str, object]:
    seen = config_of(config)
    counts = {
        f"{each}_count": len(cast("Sequence[object]", seen[each]))
        for each in ("tools", "return_directly")
    }
    return {**seen, "ctx": ctx.get("h", UNSET), **counts}


def perform_messages(
    me: Extension,
    hook: str,
    ctx: Context,
    messages: Sequence[Message],
    todo: Sequence[ops.Op],
) -> tuple[Context, Sequence[Message]]:
    """Do the operations of a hook that sees messages."""
    for op in me.due(hook, todo):
        if isinstance(op, ops.RecordOp):
            me.note(hook, _seen_messages(ctx, messages))
        elif isinstance(op, ops.EditWithMessage):
            messages = _edit_with(me, messages, op)
        elif isinstance(op, (ops.Edit, ops.KeepLast, ops.SetLastContent)):
            messages = _edit(me, messages, op)
        else:
            ctx = perform_any(me, hook, ctx, op)
    return ctx, messages


def _seen_messages(ctx: Context, messages: Sequence[Message]) -> dict[str, object]:
    return {
        "messages": [show_message(message) for message in messages],
        "message_count": len(messages),
        "tool_message_count": sum(m.role == "tool" for m in messages),
        "ctx": ctx.get("h", UNSET),
    }


def _edit_with(
    me: Extension, messages: Sequence[Message], op: ops.EditWithMessage
) -> Sequence[Message]:
    message = parse_message(op.msg.replace("<len>", str(len(messages))))
    if op.op == "append":
        return (*messages, message)
    if op.op == "prepend":
        return (message, *messages)
    if op.op == "append_to_kept":
        _ = (*me.kept, message)  # thrown away: it must not reach who shares the list
        return messages
    calls = bool(messages) and bool(messages[-1].tool_calls)
    if op.op == "replace_last" or calls:
        return (*messages[:-1], message)
    return messages


def _edit(
    me: Extension,
    messages: Sequence[Message],
    op: ops.Edit | ops.KeepLast | ops.SetLastContent,
) -> Sequence[Message]:
    if isinstance(op, ops.KeepLast):
        return messages[len(messages) - op.n :] if op.n < len(messages) else messages
    if isinstance(op, ops.SetLastContent):
        # Messages are frozen, so the nearest thing to an edit in place is a new last.
        if not messages:
            return messages
        return (*messages[:-1], replace(messages[-1], content=op.content))
    if op.op == "clear":
        return ()
    if op.op == "keep_first_and_last":
        return (messages[0], messages[-1]) if len(messages) > 2 else messages
    me.kept = messages
    return messages


def perform_any(me: Extension, hook: str, ctx: Context, op: ops.Op) -> Context:
    """Do an operation that every hook may hold; return the context."""
    if isinstance(op, ops.Fail):
        raise scripted_error(op.text)
    if isinstance(op, ops.Interrupts):
        me.stop(op)
    elif isinstance(op, ops.GiveBack):
        me.shape = op.shape
    elif isinstance(op, ops.Ask):
        me.ask(hook, ctx, op)
    elif isinstance(op, ops.CtxSet):
        text = me.world.numbered(op.value) if isinstance(op.value, str) else op.value
        return ctx.with_value(op.key, text)
    elif isinstance(op, ops.CtxAppend):
        return appended(ctx, op.key, op.text)
    else:
        _put_down(me, hook, ctx, op)
    return ctx


def _put_down(me: Extension, hook: str, ctx: Context, op: ops.Op) -> None:
    """Do an operation on values of the run, or one that only tells what it sees."""
    if isinstance(op, ops.CtxGet):
        got = {"key": op.key, "value": ctx.get(op.key, UNSET)}
        me.note(hook, {"ctx_get": got}, ctx.tool_call_id)
    elif isinstance(op, ops.RunLocalSet):
        done = _set_local(ctx, op.key, op.value)
        if op.record:
            entry = {"key": op.key, "ok": done}
            me.note(hook, {"runlocal_set": entry}, ctx.tool_call_id)
    elif isinstance(op, ops.RunLocalRead):
        _read_local(me, hook, ctx, op)
    elif isinstance(op, ops.RecordOp):
        me.note(hook, {"ctx": ctx.get("h", UNSET)}, ctx.tool_call_id)


def appended(ctx: Context, key: str, text: str) -> Context:
    """Return the context with text appended to a value, which starts as ``-``."""
    return ctx.with_value(key, f"{ctx.get(key, UNSET)}{text}")


def _set_local(ctx: Context, key: str, value: object) -> bool:
    try:
        set_run_local(ctx, key, value)
    except NoRunLocalError:
        return False
    return True


def _read_local(me: Extension, hook: str, ctx: Context, op: ops.RunLocalRead) -> None:
    if op.op == "runlocal_get":
        me.note(hook, {"runlocal_get": local_entry(ctx, op.key)}, ctx.tool_call_id)
        return
    try:
        delete_run_local(ctx, op.key)
    except NoRunLocalError:
        return


def local_entry(ctx: Context, key: str) -> dict[str, object]:
    """Return what reading a run-local value gives, for the trace."""
    try:
        value = get_run_local(ctx, key, MISSING)
    except NoRunLocalError:
        value = MISSING
    found = value is not MISSING
    return {"key": key, "found": found, **({"value": value} if found else {})}
