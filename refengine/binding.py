"""Binding tools to their onions, as often as the profile says (wrapper_factory).

Factories are called where upstream calls them: never at build, for every tool of the
list whether it is called or not, and not for an agent without tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from refengine.extensions import Extensions
from refengine.plan import Plan
from refengine.profile import Profile
from refengine.tools import Tool, ToolMeta, ToolsConfig
from refengine.toolset import BoundTool, ToolOnion


class Binder:
    """The tool onions of one agent, and the tools it has bound."""

    __slots__ = ("_kept", "_last", "_often", "_per_message", "invokable", "streamable")

    def __init__(
        self,
        extensions: Extensions,
        config: ToolsConfig,
        profile: Profile,
        *,
        kept: bool = False,
    ) -> None:
        layers = {
            "invokable": extensions.tool_layers("invokable", config),
            "streamable": extensions.tool_layers("streamable", config),
        }
        if profile.wrapper_factory == "per_call":
            layers = {
                kind: [layer.per_call() for layer in found]
                for kind, found in layers.items()
            }
        self.invokable = ToolOnion("invokable", layers["invokable"], kept=kept)
        self.streamable = ToolOnion("streamable", layers["streamable"], kept=kept)
        self._often = profile.wrapper_factory == "per_run"
        self._per_message = self._often and extensions.has_own
        self._kept: dict[int, tuple[Tool, BoundTool]] = {}
        self._last: tuple[Plan | None, Mapping[str, BoundTool]] = (None, {})

    def for_run(self, plan: Plan) -> Mapping[str, BoundTool]:
        """Return the tools of a run by name; of equal names the last one runs.

        A tool object that the last run had too is not bound again, unless the profile
        binds for every run.
        """
        if self._often:
            return self._bind(plan.registered)
        last, bound = self._last
        if last is not plan:
            self._kept = {id(m.tool): self._once(m) for m in plan.runnable}
            bound = {m.name: self._kept[id(m.tool)][1] for m in plan.runnable}
            self._last = plan, bound
        return bound

    def for_message(
        self, plan: Plan, bound: Mapping[str, BoundTool]
    ) -> Mapping[str, BoundTool]:
        """Return the tools of one message's calls: those of the run, or bound anew."""
        return self._bind(plan.runnable) if self._per_message else bound

    def bound(self, meta: ToolMeta) -> BoundTool:
        """Return a tool with its onions, which is kept nowhere."""
        return BoundTool(meta, self.invokable, self.streamable)

    def _once(self, meta: ToolMeta) -> tuple[Tool, BoundTool]:
        kept = self._kept.get(id(meta.tool))
        if kept is not None and kept[0] is meta.tool:
            return kept
        return meta.tool, self.bound(meta)

    def _bind(self, metas: Sequence[ToolMeta]) -> Mapping[str, BoundTool]:
        bound: dict[str, BoundTool] = {}
        for meta in metas:
            tool = self.bound(meta)
            bound[tool.info.name] = tool
        return bound
