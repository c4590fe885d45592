"""What the ``before_agent`` phase leaves: instruction, tools, context.

Made once when the agent is built, or at the start of every run (posture
``before_agent``). Sources: contract INS, TOOL, RD, §4; seed 000 §3.1, seed 001 §6.1.

The tool set between two handlers is normalised again only where it changed: 10,000
handlers that each add a tool would make normalising quadratic. Most handlers leave what
they got and append, so the part they left is compared (identical objects, no names
looked up) and only the rest is folded in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, cast

from refengine.awaiting import settled
from refengine.chain import LayerName
from refengine.context import Context
from refengine.errors import (
    ConfigurationError,
    HookError,
    HookReturnError,
    InterruptTooEarlyError,
    NotKnownAtBuild,
)
from refengine.events import Notice
from refengine.extensions import Extensions
from refengine.hooks import AgentConfig, AnyHook
from refengine.interrupts import Interrupt
from refengine.messages import Json, Message
from refengine.profile import Profile
from refengine.tools import (
    Options,
    Tool,
    ToolInfo,
    ToolMeta,
    ToolsConfig,
    as_meta,
    normalise,
)

OnNotice = Callable[[Notice], None]


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
        "_on_notice",
        "_one_entry",
        "config",
        "extensions",
        "instruction",
        "profile",
    )

    def __init__(
        self,
        instruction: str,
        config: ToolsConfig,
        extensions: Extensions,
        profile: Profile,
        on_notice: OnNotice | None,
    ) -> None:
        self.config: ToolsConfig = config
        self.extensions: Extensions = extensions
        self.profile: Profile = profile
        self._one_entry = profile.equal_tool_names == "one_entry"
        self._on_notice = on_notice
        self.instruction: str = instruction_with(
            instruction,
            (each.struct.additional_instruction for each in extensions.middlewares),
            profile,
        )

    def default_tools(self) -> list[ToolMeta]:
        """Return the configured tools and those of middlewares, as a fresh list."""
        metas = [as_meta(each) for each in self.config.tools]
        added = [
            as_meta(tool)
            for each in self.extensions.middlewares
            for tool in each.struct.additional_tools
        ]
        return self._joined(metas, added)

    def _joined(
        self, configured: list[ToolMeta], added: list[ToolMeta]
    ) -> list[ToolMeta]:
        """Join configured tools and those of middlewares, as the profile has them."""
        first = self.profile.additional_tools == "before_configured"
        metas = added + configured if first else configured + added
        return normalise(metas) if self._one_entry else metas

    async def plan(
        self, ctx: Context, run: tuple[Sequence[Message], Options] | None = None
    ) -> Plan:
        """Run the phase; raises HookError or HookReturnError.

        What leading adapted handlers add counts as configured, as what struct
        middlewares add does (contract §1).
        """
        hooks = self.extensions.with_hook("before_agent")
        first = self.extensions.handlers[: self.extensions.leading]
        adapted = sum("before_agent" in each.hooks for each in first)
        configured = self.default_tools()
        before = self.profile.additional_tools == "before_configured"
        config = AgentConfig(self.instruction, [] if before else configured, run)
        ctx, _ = await self._pass(hooks[:adapted], ctx, config)
        if before:
            config.tools = self._joined(configured, config.tools)
        default = config.tools
        flags = DirectFlags(self.profile, self.config.return_directly, default)
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
            ctx = await self.enter(name, hook, ctx, config, fold)
        return ctx, fold

    async def enter(
        self,
        name: LayerName,
        hook: AnyHook,
        ctx: Context,
        config: AgentConfig,
        fold: ToolFold,
    ) -> Context:
        """Call one handler's ``before_agent``; return the context that it leaves."""
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
        self.settle(name, config, fold)
        return result

    def settle(self, name: LayerName, config: AgentConfig, fold: ToolFold) -> None:
        """Normalise what the handler left; its whole set counts (contract TOOL)."""
        left: Any = config.tools
        if left is None and self.profile.null_tools != "refused":
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
        bare = not default and not runnable
        if not left and flags.made_anew(config.return_directly):
            bare = True
        elif left is None:
            runnable = default
            shown = default if self.profile.null_tools == "ignored" else []
        elif not left and self.profile.all_tools_removed != "none_left":
            shown = default
            runnable = default if self.profile.all_tools_removed == "ignored" else []
        return Plan(
            ctx,
            config.instruction,
            tuple(meta.tool.info for meta in shown),
            tuple(runnable),
            tuple(default or runnable),
            flags.end(runnable, config.return_directly),
            bare,
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


class DirectFlags:
    """The flags of one ``before_agent`` phase, by the profile's rule.

    Where flags are three-valued they stand on the tools. Other engines keep a map by
    name, which covers tools that are not there yet; flags on tools write into it.
    """

    def __init__(
        self, profile: Profile, configured: Mapping[str, bool], default: list[ToolMeta]
    ) -> None:
        self._rule = profile.return_directly
        self._by_name = self._rule in {"membership", "true_or_configured"}
        own = {
            m.name: m.return_directly for m in default if m.return_directly is not None
        }
        self._configured = {**configured, **own}

    def start(
        self, default: list[ToolMeta]
    ) -> tuple[list[ToolMeta], dict[str, bool] | None]:
        """Return tools and map as the first handler sees them; None for no map."""
        if not self._by_name:
            return list(default), None
        unset = [replace(meta, return_directly=None) for meta in default]
        return unset, dict(self._configured)

    def made_anew(self, by_name: Mapping[str, bool] | None) -> bool:
        """Tell whether an agent is made for the run, since hooks put the first flags.

        That is so where what stands in the map counts: eino makes its graph anew,
        which is that of an agent without tools if hooks have left none.
        """
        return self._rule == "membership" and not self._configured and bool(by_name)

    def end(
        self, left: Sequence[ToolMeta], by_name: Mapping[str, bool] | None
    ) -> frozenset[str]:
        """Return the names that return directly, from what the handlers left."""
        if self._rule == "configured":
            return _true(self._configured)
        flags = {m.name: m.return_directly for m in left}
        if self._rule == "three_valued":
            return _true(
                {
                    name: self._configured.get(name, False) if flag is None else flag
                    for name, flag in flags.items()
                }
            )
        written = {name: flag for name, flag in flags.items() if flag is not None}
        final = {**(by_name or {}), **written}
        if self._rule == "membership":  # what stands in the map counts, true or false
            return frozenset(final or self._configured)
        return _true(final) or _true(self._configured)


def _true(flags: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, flag in flags.items() if flag)


class ToolFold:
    """The normalised set so far.

    ``nulled`` tells that a handler put null in the place of the list and that nobody
    has put anything into it since.
    """

    __slots__ = ("index", "metas", "nulled", "one_entry")

    def __init__(self, metas: Sequence[ToolMeta], *, one_entry: bool) -> None:
        self.metas: list[ToolMeta] = list(metas)
        self.one_entry: bool = one_entry
        self.nulled: bool = False
        self.index: dict[str, int] = {meta.name: at for at, meta in enumerate(metas)}

    def null(self) -> list[ToolMeta]:
        """Take null for the list; return the empty one that comes in its place."""
        self.metas, self.index, self.nulled = [], {}, True
        return []

    def update(
        self, left: Sequence[Tool | ToolMeta]
    ) -> tuple[list[ToolMeta], list[str]]:
        """Take what a handler left; return the new set and the names it removed.

        The list is a fresh one: a handler that kept the old list changes nothing.
        """
        self.nulled = self.nulled and not left
        known = len(self.metas)
        if len(left) >= known and all(map(is_, left, self.metas)):
            self._append([as_meta(each) for each in left[known:]])
            return list(self.metas), []
        metas = [as_meta(each) for each in left]
        self.metas = normalise(metas) if self.one_entry else metas
        before, self.index = (
            self.index,
            {meta.name: at for at, meta in enumerate(self.metas)},
        )
        return list(self.metas), sorted(before.keys() - self.index.keys())

    def _append(self, metas: Sequence[ToolMeta]) -> None:
        for meta in metas:
            at = self.index.get(meta.name)
            if at is None or not self.one_entry:
                self.index[meta.name] = len(self.metas)
                self.metas.append(meta)
            elif meta.return_directly is None:
                flag = self.metas[at].return_directly
                self.metas[at] = replace(meta, return_directly=flag)
            else:
                self.metas[at] = meta
