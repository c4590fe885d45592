"""What the ``before_agent`` phase leaves: instruction, tools, context.

Made once when the agent is built, or at the start of every run (posture
``before_agent``). Sources: contract INS, TOOL, RD; seed 000 §3.1, seed 001 §6.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from refengine.awaiting import settled
from refengine.context import Context
from refengine.direct import DirectFlags
from refengine.errors import (
    ConfigurationError,
    HookError,
    HookReturnError,
    InterruptTooEarlyError,
    NotKnownAtBuild,
)
from refengine.events import Notice
from refengine.extensions import Extensions
from refengine.hooks import AnyHook
from refengine.interrupts import Interrupt
from refengine.messages import Json, Message
from refengine.profile import Profile
from refengine.scope import LayerName
from refengine.toolfold import ToolFold
from refengine.tools import (
    Options,
    ToolInfo,
    ToolMeta,
    ToolsConfig,
    as_meta,
    normalise,
)

OnNotice = Callable[[Notice], None]


class AgentConfig:
    """What ``before_agent`` changes in place; private to one build, or to one run.

    ``input`` and ``run_options`` belong to a run: reading them while the agent is
    built raises NotKnownAtBuild. ``return_directly`` holds the flags by name in
    engines that keep them so (posture ``return_directly``); it is None where they
    stand on the tools.
    """

    __slots__ = (
        "_input",
        "_run_options",
        "instruction",
        "return_directly",
        "tools",
    )

    def __init__(
        self,
        instruction: str,
        tools: list[ToolMeta],
        run: tuple[Sequence[Message], Options] | None = None,
        return_directly: dict[str, bool] | None = None,
    ) -> None:
        self.instruction = instruction
        self.tools = tools
        self.return_directly = return_directly
        self._input = None if run is None else run[0]
        self._run_options = None if run is None else run[1]

    @property
    def input(self) -> Sequence[Message]:
        """The messages the run was started with."""
        if self._input is None:
            raise NotKnownAtBuild("input")
        return self._input

    @property
    def run_options(self) -> Options:
        """The options the run was started with."""
        if self._run_options is None:
            raise NotKnownAtBuild("run_options")
        return self._run_options


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run goes by.

    ``registered`` are the tools that factories are called for at the start of a run,
    ``direct`` the names that end it with their result.
    """

    ctx: Context
    instruction: str
    shown: tuple[ToolInfo, ...]
    runnable: tuple[ToolMeta, ...]
    registered: tuple[ToolMeta, ...]
    direct: frozenset[str]
    without_tools: bool


class Planner:
    """Runs the ``before_agent`` phase of one agent."""

    __slots__ = (
        "_config",
        "_extensions",
        "_instruction",
        "_on_notice",
        "_one_entry",
        "_profile",
    )

    def __init__(
        self,
        instruction: str,
        config: ToolsConfig,
        extensions: Extensions,
        profile: Profile,
        on_notice: OnNotice | None,
    ) -> None:
        self._config = config
        self._extensions = extensions
        self._profile = profile
        self._one_entry = profile.equal_tool_names == "one_entry"
        self._on_notice = on_notice
        self._instruction = instruction_with(
            instruction,
            (each.struct.additional_instruction for each in extensions.middlewares),
            profile,
        )

    def default_tools(self) -> list[ToolMeta]:
        """Return the configured tools and those of middlewares, as a fresh list."""
        metas = [as_meta(each) for each in self._config.tools]
        added = [
            as_meta(tool)
            for each in self._extensions.middlewares
            for tool in each.struct.additional_tools
        ]
        return self._joined(metas, added)

    def _joined(
        self, configured: list[ToolMeta], added: list[ToolMeta]
    ) -> list[ToolMeta]:
        """Join configured tools and those of middlewares, as the profile has them."""
        first = self._profile.additional_tools == "before_configured"
        metas = added + configured if first else configured + added
        return normalise(metas) if self._one_entry else metas

    async def plan(
        self, ctx: Context, run: tuple[Sequence[Message], Options] | None = None
    ) -> Plan:
        """Run the phase; raises HookError or HookReturnError.

        What leading adapted handlers add counts as configured, as what struct
        middlewares add does (contract §1).
        """
        hooks = self._extensions.with_hook("before_agent")
        first = self._extensions.handlers[: self._extensions.leading]
        adapted = sum("before_agent" in each.hooks for each in first)
        configured = self.default_tools()
        before = self._profile.additional_tools == "before_configured"
        config = AgentConfig(self._instruction, [] if before else configured, run)
        ctx, _ = await self._pass(hooks[:adapted], ctx, config)
        if before:
            config.tools = self._joined(configured, config.tools)
        default = config.tools
        flags = DirectFlags(self._profile, self._config.return_directly, default)
        config.tools, config.return_directly = flags.start(default)
        ctx, fold = await self._pass(hooks[adapted:], ctx, config)
        return self._resolve(ctx, config, default, flags, fold)

    async def _pass(
        self,
        hooks: Sequence[tuple[LayerName, AnyHook]],
        ctx: Context,
        config: AgentConfig,
    ) -> tuple[Context, ToolFold]:
        fold = ToolFold(config.tools, one_entry=self._one_entry)
        for name, hook in hooks:
            ctx = await self._enter(name, hook, ctx, config, fold)
        return ctx, fold

    async def _enter(
        self,
        name: LayerName,
        hook: AnyHook,
        ctx: Context,
        config: AgentConfig,
        fold: ToolFold,
    ) -> Context:
        try:
            result = await settled(hook(ctx, config))
        except NotKnownAtBuild:
            raise
        except Interrupt as stop:
            raise InterruptTooEarlyError(name.owner) from stop
        except Exception as error:
            raise HookError(name.owner, name.position, name.hook, error) from error
        if not isinstance(result, Context):
            raise HookReturnError(name.owner, name.hook, result, "a Context")
        self._settle(name, config, fold)
        return result

    def _settle(self, name: LayerName, config: AgentConfig, fold: ToolFold) -> None:
        """Normalise what the handler left; its whole set counts (contract TOOL)."""
        left: Any = config.tools
        if left is None and self._profile.null_tools != "refused":
            # What comes later may append to it; null counts if nothing does.
            config.tools = fold.null()
            return
        if not isinstance(left, (list, tuple)):
            wanted = "config with .tools as a list of tools"
            raise HookReturnError(name.owner, name.hook, left, wanted)
        if not isinstance(config.instruction, str):
            wanted = "config with .instruction as a text"
            raise HookReturnError(name.owner, name.hook, config.instruction, wanted)
        try:
            config.tools, gone = fold.update(cast("list[ToolMeta]", left))
        except ConfigurationError as error:
            raise HookError(name.owner, name.position, name.hook, error) from error
        if gone and self._on_notice is not None:
            data: Mapping[str, Json] = {"handler": name.owner, "names": gone}
            self._on_notice(Notice("tools_removed", data))

    def _resolve(
        self,
        ctx: Context,
        config: AgentConfig,
        default: list[ToolMeta],
        flags: DirectFlags,
        fold: ToolFold,
    ) -> Plan:
        left = None if fold.nulled else config.tools
        shown = runnable = left or []
        if left is None:
            runnable = default
            shown = default if self._profile.null_tools == "ignored" else []
        elif not left and self._profile.all_tools_removed != "none_left":
            shown = default
            runnable = default if self._profile.all_tools_removed == "ignored" else []
        return Plan(
            ctx,
            config.instruction,
            tuple(meta.tool.info for meta in shown),
            tuple(runnable),
            tuple(default or runnable),
            flags.end(runnable, config.return_directly),
            not default and not runnable,
        )


def instruction_with(base: str, additions: Iterable[str], profile: Profile) -> str:
    """Join what struct middlewares add, by the profile's separator and rules."""
    separator = "\n" if profile.separator == "newline" else "\n\n"
    parts = [base]
    for addition in additions:
        if not addition and profile.empty_addition == "skipped":
            continue
        if profile.empty_base == "replaced" and not any(parts):
            parts = [addition]
        else:
            parts.append(separator + addition)
    return "".join(parts)
