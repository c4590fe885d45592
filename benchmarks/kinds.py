"""The hooks that are measured: a handler of each that does nothing, and its equals.

A kind knows what our engine carries at one hook, and what one would write by hand to
do the same: those two are the sides of every comparison with the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from benchmarks import byhand, noops, whole
from benchmarks.measure import MeasuredSide, Work
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
    does the same, and ``struct`` makes one; both are None where structs have none.
    """

    hook: str
    calls: int
    clause: str
    noop: Callable[[int], object]
    plain: Callable[[int], object] | None = None
    field: str | None = None
    struct: Callable[[Count], AgentMiddleware] | None = None
    unit: Unit = "run"

    def setting(self, n: int) -> Setting:
        """Return the setting around which the axes are laid, with n handlers."""
        return Setting(hook=self.hook, n=n)

    def bare(self, n: int, kit: SharedParts) -> Work:
        """Return a run, or a build, written by hand; raises TooDeepByHandError."""
        return bare_side(self.setting(n), kit).work

    async def engine(self, n: int, kit: SharedParts) -> Work:
        """Return a run, or a build, of our engine with n handlers."""
        return (await engine_side(self.setting(n), kit)).work


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
        work = whole.build(setting, kit, handlers, structs)
    else:
        work = await whole.run(setting, kit, handlers, structs)
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
    if kind.struct is None:
        raise NoSuchSideError(f"a struct middleware has no field for {kind.hook}")
    return kit.structs(kind.struct, setting.n)


def _struct_before(count: Count) -> AgentMiddleware:
    hook = count(noops.leave, "AgentMiddleware.before_chat_model")
    return AgentMiddleware(before_chat_model=hook)


def _struct_after(count: Count) -> AgentMiddleware:
    hook = count(noops.leave, "AgentMiddleware.after_chat_model")
    return AgentMiddleware(after_chat_model=hook)


def _struct_tool(count: Count) -> AgentMiddleware:
    factory = noops.wrapping(count, "AgentMiddleware.wrap_tool_call")
    return AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=factory))


def _kinds() -> tuple[HandlerKind, ...]:
    before, after = "before_model_rewrite_history", "after_model_rewrite_history"
    return (
        HandlerKind(
            before,
            2,
            "ORD-002",
            noops.Rewriter,
            noops.PlainRewriter,
            "before_chat_model",
            _struct_before,
        ),
        HandlerKind(
            after,
            2,
            "ORD-004",
            noops.AfterRewriter,
            noops.PlainAfterRewriter,
            "after_chat_model",
            _struct_after,
        ),
        HandlerKind("wrap_model_call", 2, "ORD-010", noops.ModelWrapper),
        HandlerKind(
            "wrap_invokable_tool_call",
            1,
            "ORD-014",
            noops.ToolWrapper,
            None,
            "wrap_tool_call",
            _struct_tool,
        ),
        HandlerKind(STREAMED_HOOK, 1, "ORD-014", noops.StreamWrapper),
        HandlerKind("after_agent", 1, "RUN-017", noops.Finisher, noops.PlainFinisher),
        HandlerKind(
            "before_agent",
            1,
            "ORD-006",
            noops.Preparer,
            noops.PlainPreparer,
            unit="build",
        ),
    )


KINDS: Final[Mapping[str, HandlerKind]] = MappingProxyType(
    {kind.hook: kind for kind in _kinds()}
)
"""By hook. ``before_agent`` acts when the agent is built, so a build is its unit."""
