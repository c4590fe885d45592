"""Engines that are wrong about how far a context reaches (CTX)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import tool_onion
from refengine.agent import Agent
from refengine.chain import CallScope, Layer, Onion, Pipeline
from refengine.context import Context, at_point, at_point_of
from refengine.loop import Loop
from refengine.messages import Message
from refengine.plan import Plan, Planner
from refengine.tool_calls import ToolCallRun
from refengine.tools import ToolCallInput

_SIBLING: Final = "the context of the last call"
"""Not a key that a scenario uses."""


def _each_anew(right: Callable[..., Any]) -> Callable[..., Any]:
    """Give every hook of a pipeline the context that the first one was given."""

    async def made(
        self: Any,  # noqa: ANN401  # a Pipeline
        ctx: Context,
        messages: Sequence[Message],
    ) -> tuple[Context, Sequence[Message]]:
        left = ctx
        for hook, _, name in self._steps:
            left, messages = await right(Pipeline([(name, hook)]), ctx, messages)
        return left, messages

    return made


def _build_forgotten(_: Callable[..., Any]) -> Callable[..., Any]:
    """Start every run with the context that the build was given."""

    async def made(self: Any, *_: object) -> tuple[Plan, Context]:  # noqa: ANN401  # an Agent
        return self._plan, self._ctx

    return made


def _model_outside(right: Callable[..., Any]) -> Callable[..., Any]:
    """Call the model with the context of the run."""

    async def made(self: Any, _: Context) -> Any:  # noqa: ANN401  # a Loop, a Message
        return await right(self, self.ctx)

    return made


def _after_outside(right: Callable[..., Any]) -> Callable[..., Any]:
    """Start the after-hooks with the context of the run."""

    async def made(self: Any, phases: object, ctx: Context) -> Context:  # noqa: ANN401  # a Loop
        after = phases is self.machine.after
        left: Context = await right(self, phases, self.ctx if after else ctx)
        return left

    return made


def _carried_over(right: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what the before-hooks left for the iterations that follow."""

    async def made(self: Any) -> Context:  # noqa: ANN401  # a Loop
        ctx: Context = await right(self)
        self.ctx = ctx
        return ctx

    return made


def _tools_outside(_: Callable[..., Any]) -> Callable[..., Any]:
    """Call the tools with the context of the run."""

    def made(self: Any, _: Context) -> Context:  # noqa: ANN401  # a Loop
        ctx: Context = self.ctx
        return ctx

    return made


def _not_inwards(right: Callable[..., Any]) -> Callable[..., Any]:
    """Call what stands inside a wrapper with the context that the wrapper was given."""

    def made(self: Onion, layer: Layer, at: int, inner: Any) -> Any:  # noqa: ANN401  # as the right one
        async def enter(ctx: Context, value: object) -> object:
            def same(_: Context, given: object) -> object:
                return inner(ctx, given)

            return await right(self, layer, at, same)(ctx, value)

        return enter

    return made


def _remembers(right: Callable[..., Context]) -> Callable[..., Context]:
    """Keep the context that the innermost point of a call was reached with."""

    def made(self: CallScope, ctx: Context) -> Context:
        placed = right(self, ctx)
        if self.tool is not None:
            self.locals[_SIBLING] = ctx
        return placed

    return made


def _goes_on_from(right: Callable[..., Any]) -> Callable[..., Any]:
    """Start a call with the context that the one before it ended with."""

    async def made(self: Any, ctx: Context, streaming: bool) -> None:  # noqa: ANN401  # a ToolCallRun
        last = self.scope.locals.get(_SIBLING, ctx)
        await right(self, last, streaming)

    return made


def _empty_at_end(right: Callable[..., Any]) -> Callable[..., Any]:
    """Show after_agent hooks an empty context."""

    async def made(self: Pipeline, ctx: Context, value: object) -> Context:
        empty = at_point_of(Context(), ctx)
        left: Context = await right(self, empty, value)
        return left

    return made


def _id_of_input(right: Callable[..., Any]) -> Callable[..., Any]:
    """Let a tool find the id that a wrapper wrote into its input."""

    def made(ctx: Context, value: ToolCallInput) -> Any:  # noqa: ANN401  # as the right one
        scope, tool, at = right(ctx, value)
        locals_: Any = scope.locals
        return scope, tool, at_point(at, scope.run_path, value.call_id, locals_)

    return made


def _no_path(right: Callable[..., Context]) -> Callable[..., Context]:
    """Lose the path at the innermost point."""

    def made(self: CallScope, ctx: Context) -> Context:
        right(self, ctx)
        return at_point(ctx, (), self.call_id, self.locals)

    return made


def _one_key(right: Callable[..., Context]) -> Callable[..., Context]:
    """Keep the newest value alone."""

    def made(self: Context, key: str, value: object) -> Context:
        empty = at_point_of(Context(), self)
        return right(empty, key, value)

    return made


def _fresh_locals(right: Callable[..., Any]) -> Callable[..., Any]:
    """Give each tool run-local values of its own."""

    def made(ctx: Context, value: ToolCallInput) -> Any:  # noqa: ANN401  # as the right one
        scope, tool, at = right(ctx, value)
        return scope, tool, at_point(at, scope.run_path, scope.call_id, {})

    return made


def _shared_locals(right: Callable[..., None]) -> Callable[..., None]:
    """Give all runs of an agent the same run-local values."""

    def made(self: Any, machine: Any, *given: Any, **more: Any) -> None:  # noqa: ANN401  # as the right one
        right(self, machine, *given, **more)
        self.locals = _kept_by(machine)
        self.ctx = at_point(self.ctx, self.run_path, None, self.locals)

    return made


def _kept_by(machine: Any) -> Any:  # noqa: ANN401  # parts of the engine
    """Return one dictionary for each agent, kept where it keeps its compiled onions."""
    return machine.model._calls.setdefault("locals", {})  # noqa: SLF001  # it lives as long as the agent


def _locals_at_build(right: Callable[..., Any]) -> Callable[..., Any]:
    """Run before_agent with run-local values, which nobody sees again."""

    async def made(self: Planner, ctx: Context, *run: object) -> Plan:
        path, call_id = ctx.run_path, ctx.tool_call_id
        left: Plan = await right(self, at_point(ctx, path, call_id, {}), *run)
        return left

    return made


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="context-each-anew",
        about="Every hook of a pipeline gets the context that the first one got.",
        violates=("CTX-001",),
        wrong=patched("each anew", Patch(Pipeline, "rewrite", _each_anew)),
    ),
    Mutant(
        id="context-of-build-forgotten",
        about="What before_agent put into the context reaches no run.",
        violates=("CTX-002",),
        wrong=patched("forgotten", Patch(Agent, "planned", _build_forgotten)),
    ),
    Mutant(
        id="context-not-to-model",
        about="The model is called with the context of the run.",
        violates=("CTX-003",),
        wrong=patched(
            "not to the model",
            Patch(Loop, "ask_model", _model_outside),
            Patch(Loop, "open_answer", _model_outside),
        ),
    ),
    Mutant(
        id="context-not-to-after-hooks",
        about="The after-hooks start with the context of the run.",
        violates=("CTX-004",),
        wrong=patched("not to after-hooks", Patch(Loop, "run_phases", _after_outside)),
    ),
    Mutant(
        id="context-carried-over",
        about="What before-hooks put into the context stays for later iterations.",
        violates=("CTX-005",),
        wrong=patched("carried over", Patch(Loop, "before_model", _carried_over)),
    ),
    Mutant(
        id="context-not-to-tools",
        about="What model hooks put into the context does not reach the tools.",
        violates=("CTX-006",),
        wrong=patched("not to tools", Patch(Loop, "_tools_context", _tools_outside)),
    ),
    Mutant(
        id="context-not-inwards",
        about="What a wrapper puts into the context does not reach what it wraps.",
        violates=("CTX-007",),
        wrong=patched("not inwards", Patch(Onion, "layer", _not_inwards)),
    ),
    Mutant(
        id="context-to-siblings",
        about="What wrappers put into the context reaches the next call too.",
        violates=("CTX-008",),
        wrong=patched(
            "to siblings",
            Patch(CallScope, "innermost", _remembers),
            Patch(ToolCallRun, "open", _goes_on_from),
        ),
    ),
    Mutant(
        id="context-empty-after-agent",
        about="after_agent hooks start with an empty context.",
        violates=("CTX-009",),
        wrong=patched("empty at the end", Patch(Pipeline, "observe", _empty_at_end)),
    ),
    Mutant(
        id="call-id-of-input",
        about="A tool finds the call id that a wrapper wrote into its input.",
        violates=("CTX-010",),
        wrong=patched("id of the input", Patch(tool_onion, "arrive", _id_of_input)),
    ),
    Mutant(
        id="run-path-lost",
        about="A tool finds an empty run path.",
        violates=("CTX-011",),
        wrong=patched("no path", Patch(CallScope, "innermost", _no_path)),
    ),
    Mutant(
        id="context-of-one-key",
        about="A value put into a context takes the place of all others.",
        violates=("CTX-012",),
        wrong=patched("one key", Patch(Context, "with_value", _one_key)),
    ),
    Mutant(
        id="run-locals-of-a-hook",
        about="A run-local value is found only where it was set.",
        violates=("CTX-013",),
        wrong=patched("fresh locals", Patch(tool_onion, "arrive", _fresh_locals)),
    ),
    Mutant(
        id="run-locals-shared",
        about="A run finds the run-local values of the runs before it.",
        violates=("CTX-014",),
        wrong=patched("shared locals", Patch(Loop, "__init__", _shared_locals)),
    ),
    Mutant(
        id="run-locals-before-agent",
        about="before_agent can set run-local values, which are then lost.",
        violates=("CTX-015",),
        wrong=patched("locals at build", Patch(Planner, "plan", _locals_at_build)),
    ),
)
"""Engines in which a context reaches less far, or farther."""
