"""The compiled parts of one agent, which all its runs share.

Tools are bound to their onions as often as the profile says (``wrapper_factory``).
Factories are called where upstream calls them: never at build, for every tool of the
list whether it is called or not, and not for an agent without tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from refengine.chain import KeptCalls, Pipeline
from refengine.extensions import Extensions
from refengine.model_calls import ModelOnion
from refengine.plan import OnNotice, Plan
from refengine.profile import Profile
from refengine.resume.checkpoint import Keeper, TypeRegistry
from refengine.struct_middleware import LegacyPass
from refengine.tool_calls import CallBatch, scheduler
from refengine.tool_onion import BoundTool, ToolOnion
from refengine.tools import Tool, ToolMeta, ToolsConfig


class Binder:
    """The tool onions of one agent, and the tools it has bound."""

    __slots__ = ("_kept", "_last", "_often", "_per_message", "invokable", "streamable")

    def __init__(
        self,
        extensions: Extensions,
        config: ToolsConfig,
        profile: Profile,
        *,
        kept: KeptCalls | None = None,
    ) -> None:
        layers = {
            "invokable": extensions.tool_layers("invokable", config),
            "streamable": extensions.tool_layers("streamable", config),
        }
        if profile.handler_input == "own":
            layers = {
                kind: [layer.apart() for layer in found]
                for kind, found in layers.items()
            }
        if profile.wrapper_factory == "per_call":
            layers = {
                kind: [layer.per_call() for layer in found]
                for kind, found in layers.items()
            }
        self.invokable: ToolOnion = ToolOnion(
            "invokable", layers["invokable"], kept=kept
        )
        self.streamable: ToolOnion = ToolOnion(
            "streamable", layers["streamable"], kept=kept
        )
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


@dataclass(frozen=True, slots=True)
class CompiledAgent:
    """The compiled parts of one agent; the same for all its runs.

    ``keeper`` keeps its runs, if one does; ``types`` are those by which kept values are
    looked at, None if nobody looks. What each run would find anew in the parts is found
    here once: ``asks_bare`` tells that nothing stands around the model, no wrapper and
    no second attempt, ``sends_history`` that the model is sent the history just as it
    is kept, ``apologises`` that calls in the last iteration get an apology. ``batches``
    run the calls of a message: of a run that is invoked, and of one that is streamed.
    """

    name: str
    profile: Profile
    max_iterations: int
    tools_config: ToolsConfig
    before: tuple[LegacyPass | Pipeline, ...]
    after: tuple[LegacyPass | Pipeline, ...]
    after_agent: Pipeline
    model: ModelOnion
    binder: Binder
    on_notice: OnNotice | None
    keeper: Keeper | None = None
    types: TypeRegistry | None = None
    asks_bare: bool = field(init=False)
    sends_history: bool = field(init=False)
    apologises: bool = field(init=False)
    batches: tuple[type[CallBatch], type[CallBatch]] = field(init=False)

    def __post_init__(self) -> None:
        profile, put = self.profile, object.__setattr__
        put(self, "asks_bare", not self.model and self.model.retry is None)
        sends_history = (
            profile.instruction_place == "in_history"
            and profile.before_model_edits == "kept"
            and profile.unanswered_calls == "sent"
        )
        put(self, "sends_history", sends_history)
        run = partial(scheduler, profile, one_by_one=self.tools_config.sequential)
        put(self, "batches", (run(streaming=False), run(streaming=True)))
        put(self, "apologises", profile.exhaustion == "apology" and not self.after)

    @property
    def calls_once(self) -> bool:
        """Whether an agent without tools calls the model once and ends."""
        rule, binder = self.profile.without_tools, self.binder
        wrapped = binder.invokable.names or binder.streamable.names
        return rule == "single_call" or (rule == "loop_if_wrapped" and not wrapped)
