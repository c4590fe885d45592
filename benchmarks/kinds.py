"""The hooks that are measured: a handler of each that does nothing, and its equals.

A kind knows what our engine carries at one hook, and what one would write by hand to
do the same: those two are the sides of every comparison with the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from benchmarks import byhand, engine_runs, noops
from benchmarks.measure import MeasuredSide
from benchmarks.parts import Count, SharedParts
from benchmarks.specs import STREAMED_HOOK, Setting
from refengine import AgentMiddleware, ToolMiddleware
from refengine.errors import RefengineError

Unit: TypeAlias = Literal["run", "build"]


class UnknownHookError(RefengineError):
    """No hook of that name is measured."""

    def __init__(self, hook: str) -> None:
        self.hook = hook
        super().__init__(f"no hook {hook!r} is measured; there are {', '.join(KINDS)}")


class NoSuchSideError(RefengineError):
    """A side that cannot be set up, such as a struct for a hook that structs lack."""


@dataclass(frozen=True, slots=True)
class HandlerKind:
    """One hook. ``calls`` is how often one handler's is called in one ``unit``.

    ``clause`` is the one that says so. ``field`` is that of a struct middleware which
    does the same, None where structs have none.
    """

    hook: str
    calls: int
    clause: str
    noop: Callable[[int], object]
    plain: Callable[[int], object] | None = None
    field: str | None = None
    unit: Unit = "run"

    def setting(self, n: int) -> Setting:
        """Return the setting around which the axes are laid, with n handlers."""
        return Setting(hook=self.hook, n=n)


def bare_side(setting: Setting, kit: SharedParts) -> MeasuredSide:
    """Return what one would write by hand for a setting.

    Raises UnknownHookError, NoSuchSideError, TooDeepError.
    """
    kind = kind_of(setting.hook)
    setting = replace(setting, form="handlers")  # a loop by hand knows no form
    handlers = kit.handlers(_maker(kind, setting), setting.n)
    if kind.unit == "build":
        work = byhand.build(setting, handlers)
    else:
        work = byhand.run(setting, kit, handlers)
    return MeasuredSide(work, expected(kind, setting))


async def engine_side(setting: Setting, kit: SharedParts) -> MeasuredSide:
    """Return our engine at work in a setting; raises as ``bare_side``."""
    kind = kind_of(setting.hook)
    if setting.form == "handlers":
        handlers, structs = kit.handlers(_maker(kind, setting), setting.n), []
    else:
        handlers, structs = [], _structs(kind, setting, kit)
    if kind.unit == "build":
        work = engine_runs.build(setting, kit, handlers, structs)
    else:
        work = await engine_runs.run(setting, kit, handlers, structs)
    return MeasuredSide(work, expected(kind, setting))


def expected(kind: HandlerKind, setting: Setting) -> Mapping[str, int]:
    """Return the calls that one run, or build, has to make."""
    hooks = {_key(kind, setting): setting.n * kind.calls} if setting.n else {}
    if kind.unit == "build":
        return hooks
    model = "StreamedModel.stream" if setting.stream else "CannedModel.invoke"
    streamed = kind.hook == STREAMED_HOOK
    tool = "StreamedTool.stream" if streamed else "EchoTool.invoke"
    return {model: 2, tool: 1, **hooks}


def clause_of(kind: HandlerKind, setting: Setting, call: str) -> str:
    """Return the clause that is not kept where a call is made more or less often."""
    if call.endswith((".invoke", ".stream")):
        return "RUN-002" if "Model" in call else "RUN-004"
    return kind.clause if call == _key(kind, setting) else "RUN-009"


def kind_of(hook: str) -> HandlerKind:
    """Return the kind of a hook; raises UnknownHookError."""
    if hook not in KINDS:
        raise UnknownHookError(hook)
    return KINDS[hook]


def _key(kind: HandlerKind, setting: Setting) -> str:
    if setting.form != "handlers":
        return f"AgentMiddleware.{kind.field}"
    made = _maker(kind, setting)
    return f"{getattr(made, '__name__', made)}.{kind.hook}"


def _maker(kind: HandlerKind, setting: Setting) -> Callable[[int], object]:
    if not setting.plain:
        return kind.noop
    if kind.plain is None:
        raise NoSuchSideError(f"{kind.hook} is async always: a wrapper awaits")
    return kind.plain


def _structs(
    kind: HandlerKind, setting: Setting, kit: SharedParts
) -> list[AgentMiddleware]:
    field = kind.field
    if field is None:
        raise NoSuchSideError(f"a struct middleware has no field for {kind.hook}")
    return kit.structs(lambda count: _struct(field, count), setting.n)


def _struct(field: str, count: Count) -> AgentMiddleware:
    """Return a struct middleware with one callback, which does nothing."""
    key = f"AgentMiddleware.{field}"
    made: Any = count(noops.leave, key)
    if field == "wrap_tool_call":
        made = ToolMiddleware(invokable=noops.wrapping(count, key))
    return replace(AgentMiddleware(), **{field: made})


_BEFORE: Final = "before_model_rewrite_history"
_AFTER: Final = "after_model_rewrite_history"
_TOOL: Final = "wrap_invokable_tool_call"
_KINDS: Final = (
    HandlerKind(
        *(_BEFORE, 2, "ORD-002", noops.Rewriter),
        *(noops.PlainRewriter, "before_chat_model"),
    ),
    HandlerKind(
        *(_AFTER, 2, "ORD-004", noops.AfterRewriter),
        *(noops.PlainAfterRewriter, "after_chat_model"),
    ),
    HandlerKind("wrap_model_call", 2, "ORD-010", noops.ModelWrapper),
    HandlerKind(_TOOL, 1, "ORD-014", noops.ToolWrapper, None, "wrap_tool_call"),
    HandlerKind(STREAMED_HOOK, 1, "ORD-014", noops.StreamWrapper),
    HandlerKind("after_agent", 1, "RUN-017", noops.Finisher, noops.PlainFinisher),
    HandlerKind(
        *("before_agent", 1, "ORD-006", noops.Preparer, noops.PlainPreparer),
        unit="build",
    ),
)
KINDS: Final[Mapping[str, HandlerKind]] = MappingProxyType(
    {kind.hook: kind for kind in _KINDS}
)
"""By hook. ``before_agent`` acts when the agent is built, so a build is its unit."""
