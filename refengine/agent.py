"""Building an agent and running it (contract §0, §2)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from refengine.chain import KeptCalls, Pipeline
from refengine.compiled import Binder, CompiledAgent
from refengine.context import Context, lay_over
from refengine.errors import (
    FieldTypeError,
    InputError,
    MaxIterationsError,
    MixedExtensionsWarning,
    NoCheckpointsError,
)
from refengine.events import Notice
from refengine.explain import explain
from refengine.extensions import Extensions, collect
from refengine.messages import Json, Message
from refengine.model import ChatModel
from refengine.model_calls import ModelOnion, ModelRetry
from refengine.plan import OnNotice, Plan, Planner
from refengine.profile import SEED_001, Profile
from refengine.resume.checkpoint import Keeper, TypeRegistry
from refengine.run import NOT_KEPT, Kept, Run
from refengine.struct_middleware import AgentMiddleware, LegacyPass
from refengine.tools import NO_OPTIONS, Options, ToolsConfig

DEFAULT_MAX_ITERATIONS: Final = 20


@dataclass(frozen=True, slots=True)
class ChatModelAgentConfig:
    """What an agent is made of; the two lists of extensions may be used together.

    ``checkpoints`` keeps its runs, so that they can be interrupted and resumed
    (``refengine.state.Checkpoints``). With ``strict_state`` what could not be kept is
    refused without them, too. ``retry`` says when a model that failed is asked again.
    """

    name: str
    description: str
    model: ChatModel
    instruction: str = ""
    tools_config: ToolsConfig = field(default_factory=ToolsConfig)
    middlewares: Sequence[AgentMiddleware] = ()
    handlers: Sequence[object] = ()
    max_iterations: int = DEFAULT_MAX_ITERATIONS
    checkpoints: Keeper | None = None
    strict_state: bool = False
    retry: ModelRetry | None = None


class Agent:
    """A built agent; runs share nothing through it (contract CONC)."""

    __slots__ = ("_ctx", "_plan", "_planner", "extensions", "machine")

    def __init__(
        self,
        machine: CompiledAgent,
        planner: Planner,
        extensions: Extensions,
        ctx: Context,
        plan: Plan | None,
    ) -> None:
        self.machine: CompiledAgent = machine
        self.extensions: Extensions = extensions
        self._planner = planner
        self._ctx = ctx
        self._plan = plan

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # the contract's signature
        ctx: Context | None = None,
        options: Options | None = None,
        checkpoint: str | None = None,
    ) -> Run:
        """Start a run over ``messages``; nothing happens before it is iterated.

        A tuple is used as it is, a list is copied. ``ctx`` is laid over the agent's
        context and wins; ``options`` reach the model and the tools. ``checkpoint`` is
        the key under which the run is kept: one that no other run has. Raises
        NoCheckpointsError if the agent keeps no runs.
        """
        if checkpoint is not None:
            self._check_key("run", checkpoint)
        given = _given(messages)
        kept = NOT_KEPT if checkpoint is None else Kept(checkpoint)
        return Run(self, given, ctx, _frozen(options), streaming=stream, kept=kept)

    def resume(
        self,
        checkpoint: str,
        answers: Mapping[str, Json] | None = None,
        *,
        ctx: Context | None = None,
        options: Options | None = None,
    ) -> Run:
        """Go on with a run that was interrupted, or broken off by a crash.

        ``answers`` are by ``str(address)`` of ``RunResult.interrupts``: what is not
        among them waits further. Without any, all go on, and are answered None.
        ``ctx`` and ``options`` are not kept and given again. Raises NoCheckpointsError;
        when iterated also what the keeper raises, NotResumableError,
        UnknownInterruptError and ChangedAgentError.
        """
        self._check_key("resume", checkpoint)
        if answers is not None and not isinstance(answers, Mapping):
            raise FieldTypeError(
                "answers", answers, "a mapping from addresses, or None"
            )
        given = None if answers is None else dict(answers)
        kept = Kept(checkpoint, resumes=True, answers=given)
        return Run(self, (), ctx, _frozen(options), streaming=False, kept=kept)

    def _check_key(self, method: str, key: object) -> None:
        """Raise FieldTypeError or NoCheckpointsError for a key that is of no use."""
        if not isinstance(key, str):
            raise FieldTypeError("checkpoint", key, "a text, the key of one run")
        if self.machine.keeper is None:
            raise NoCheckpointsError(method, key)

    def explain(self, style: Literal["text", "mermaid"] = "text") -> str:
        """Return the resolved order of everything that acts, as text or a picture."""
        return explain(self.machine, self.extensions, style)

    def run_path(self, ctx: Context | None) -> tuple[str, ...]:
        """Return the path of a run that is given this context."""
        outer = self._ctx if ctx is None else ctx
        return (*outer.run_path, self.machine.name)

    async def planned(
        self, messages: Sequence[Message], ctx: Context | None, options: Options
    ) -> tuple[Plan, Context]:
        """Return what a run goes by, and the context it starts with."""
        if self._plan is not None:
            return self._plan, lay_over(self._plan.ctx, ctx)
        plan = await self._planner.plan(lay_over(self._ctx, ctx), (messages, options))
        return plan, plan.ctx


async def build_agent(
    config: ChatModelAgentConfig,
    profile: Profile = SEED_001,
    ctx: Context | None = None,
    *,
    on_notice: OnNotice | None = None,
) -> Agent:
    """Check the configuration, run ``before_agent`` if the profile does so at build.

    ``on_notice`` is told what nobody else can see (see Notice). Raises a
    ConfigurationError, or the HookError of a ``before_agent``.
    """
    limit = _limit(config.max_iterations, profile)
    _check_types(config)
    extensions = collect(config.middlewares, config.handlers, profile)
    _warn(extensions, profile, on_notice)
    planner = Planner(
        config.instruction, config.tools_config, extensions, profile, on_notice
    )
    planner.default_tools()  # refuses a tool without a method now, not at the first run
    machine = compile_agent(config, profile, extensions, limit, on_notice)
    start = ctx or Context()
    plan = await planner.plan(start) if profile.before_agent == "build" else None
    return Agent(machine, planner, extensions, start, plan)


def _given(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages as a tuple; raises InputError for anything else.

    Only the ends are looked at: a run must not cost more over a long history.
    """
    if isinstance(messages, (Message, str)):
        raise InputError(messages)
    given = messages if isinstance(messages, tuple) else tuple(messages)
    for each in (given[0], given[-1]) if given else ():
        if not isinstance(each, Message):
            raise InputError(each)
    return given


def _frozen(options: Options | None) -> Options:
    """Return a copy that nobody can change: runs, calls and their wrappers share it."""
    return MappingProxyType(dict(options)) if options else NO_OPTIONS


def _limit(given: object, profile: Profile) -> int:
    """Return how many iterations a run has; raises MaxIterationsError."""
    if type(given) is int:  # a bool is none
        if given >= 1:
            return given
        if profile.iterations_below_one == "default":
            return DEFAULT_MAX_ITERATIONS
    raise MaxIterationsError(given)


def _check_types(config: ChatModelAgentConfig) -> None:
    """Look at what the compiled parts would trip over; raises FieldTypeError."""
    lists = (list, tuple)
    for field_, wanted, fits in (
        ("instruction", "a text", isinstance(config.instruction, str)),
        ("handlers", "a list of handlers", isinstance(config.handlers, lists)),
        (
            "checkpoints",
            "Checkpoints(store), or None",
            config.checkpoints is None or _is_keeper(config.checkpoints),
        ),
        ("strict_state", "True or False", isinstance(config.strict_state, bool)),
        (
            "retry",
            "a ModelRetry, or None",
            config.retry is None or isinstance(config.retry, ModelRetry),
        ),
        (
            "middlewares",
            "a list of AgentMiddleware",
            isinstance(config.middlewares, lists)
            and all(isinstance(each, AgentMiddleware) for each in config.middlewares),
        ),
    ):
        if not fits:
            raise FieldTypeError(field_, getattr(config, field_), wanted)


def _is_keeper(given: object) -> bool:
    """Tell whether it has what a Keeper has; a store alone packs no steps."""
    return all(hasattr(given, name) for name in ("types", "write", "read"))


def compile_agent(
    config: ChatModelAgentConfig,
    profile: Profile,
    extensions: Extensions,
    limit: int,
    on_notice: OnNotice | None,
) -> CompiledAgent:
    """Compile the parts of an agent, which all its runs share."""
    before = _phases(
        extensions, profile, "before_chat_model", "before_model_rewrite_history"
    )
    after = _phases(
        extensions, profile, "after_chat_model", "after_model_rewrite_history"
    )
    if profile.after_hooks != "in_order":
        after.reverse()
    called = profile.after_agent == "on_success"
    after_agent = extensions.with_hook("after_agent") if called else []
    if profile.after_hooks == "reversed":
        after_agent.reverse()
    keeper = config.checkpoints
    kept = _kept_calls() if keeper is not None or config.strict_state else None
    return CompiledAgent(
        config.name,
        profile,
        limit,
        config.tools_config,
        tuple(before),
        tuple(after),
        Pipeline(after_agent),
        ModelOnion(
            config.model,
            extensions,
            kept=kept,
            retry=config.retry,
            raises_again=profile.swallowed_interrupt == "raised_again",
        ),
        Binder(extensions, config.tools_config, profile, kept=kept),
        on_notice,
        keeper,
        _types_of(config),
    )


def _kept_calls() -> KeptCalls:
    from refengine.resume import layers  # noqa: PLC0415  # most runs are not kept

    return layers


def _types_of(config: ChatModelAgentConfig) -> TypeRegistry | None:
    """Return the types by which kept values are looked at, None if nobody looks."""
    if config.checkpoints is not None:
        return config.checkpoints.types
    if not config.strict_state:
        return None
    from refengine.state.values import Types  # noqa: PLC0415  # seldom used

    return Types()


def _phases(
    extensions: Extensions, profile: Profile, field: str, hook: str
) -> list[LegacyPass | Pipeline]:
    """Return the phases of one pass; one that nobody takes part in drops out."""
    structs = extensions.model_hooks(field)
    handlers = extensions.with_hook(hook)
    if field == "after_chat_model" and profile.after_hooks == "reversed":
        structs.reverse()
        handlers.reverse()
    phases: list[LegacyPass | Pipeline] = []
    if structs:
        phases.append(LegacyPass(structs, profile))
    if handlers:
        phases.append(Pipeline(handlers))
    return phases


def _warn(extensions: Extensions, profile: Profile, on_notice: OnNotice | None) -> None:
    if (
        extensions.middlewares
        and extensions.handlers
        and profile.both_lists == "warning"
    ):
        text = (
            "both middlewares= and handlers= are used: struct middlewares act first,"
            " and what stands in both is done twice; move to handlers= alone"
        )
        _give(MixedExtensionsWarning(text), on_notice)
    if extensions.middlewares and profile.struct_middleware == "deprecated":
        text = "struct middlewares are deprecated under this profile: write handlers"
        _give(DeprecationWarning(text), on_notice)


def _give(warning: Warning, on_notice: OnNotice | None) -> None:
    warnings.warn(warning, stacklevel=4)
    if on_notice is not None:
        on_notice(Notice("warning", {"category": type(warning).__name__}))
