"""What an engine can be asked for, and the refusal of what it has no place for.

    CapabilityError (ConfigurationError)   the scenario needs what the engine lacks
    MissingExtraError (ImportError)        the engine's packages are not installed

A door refuses when it builds. What only shows when a hook acts, such as an instruction
that it edits, is refused at that moment and ends the run with the same error: a door
never leaves out what it was asked for.

The doors of this package refuse by themselves. A stranger's engine that says what it
has no place for need not: what it does not declare never reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

from refengine.agent import ChatModelAgentConfig
from refengine.errors import ConfigurationError
from refengine.extensions import as_hooks
from refengine.hooks import LOW_LEVEL, AnyHook, hooks_of
from refengine.messages import Json, Message
from refengine.plan import OnNotice
from refengine.testing.doors import (
    Engine,
    EngineAgent,
    EngineRun,
    GeneratedRun,
    KeepingAgent,
    Yielded,
)
from refengine.testing.machine import install_line
from refengine.testing.trace import Trace
from refengine.tools import Options, as_meta

CAPABILITIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "before_agent": "a handler acts once before the agent runs",
        "before_model": "a handler rewrites the history before the model",
        "after_model": "a handler rewrites the history after the model",
        "after_agent": "a handler acts once after the agent ran",
        "wrap_model": "a handler wraps model calls",
        "wrap_tool": "a handler wraps calls of invokable tools",
        "wrap_streamable": "a handler wraps calls of streamable tools",
        "adapted_structs": "a handler stands for a struct middleware",
        "struct_tools": "a struct middleware brings tools",
        "struct_instruction": "a struct middleware adds to the instruction",
        "struct_model_hooks": "a struct middleware has callbacks around the model",
        "struct_tool_wrappers": "a struct middleware wraps tool calls",
        "tool_call_middlewares": "the tools configuration wraps tool calls",
        "unknown_tools_handler": "a function answers calls of unknown tools",
        "parallel_calls": "the model calls several tools in one message",
        "equal_call_ids": "two calls of one message have the same id",
        "concurrent_calls": "the calls of one message run at the same time",
        "sequential": "the calls of one message run one after the other, if asked for",
        "return_directly": "a tool's result ends the run",
        "streaming": "a run streams: answers and results come in chunks",
        "streamable_tools": "a tool gives its result in chunks",
        "edited_config": "before_agent edits instruction, tools or flags",
        "several_handlers": "more than one extension acts in an agent",
        "next_twice": "a wrapper of a tool calls what is inside it more than once",
        "context": "a hook hands a changed context on",
        "run_locals": "a hook keeps a value for the rest of its run",
        "run_options": "a run has options for model and tools",
        "streamed_model_wraps": "a handler wraps the model in a streaming run",
        "arguments_text": "the arguments of a call are not a JSON object",
        "lone_surrogates": "a text is not valid Unicode: half of a pair stands alone",
        "many_extensions": "more than a hundred extensions act in one agent",
        "resume": "a run is interrupted, kept, and goes on when it is answered",
        "cancellation": "a run that is cancelled leaves a history to go on with",
        "failed_history": "a failed run hands back the history and iterations it had",
        "retry": "the model is asked again when it failed",
        "fall_back": "another model is asked when one failed in all its attempts",
        "run_context": "a run is given a context, as that of an agent inside a tool",
        "actions": "a tool attaches an action to its result",
        "own_errors": "errors are refengine's own, with all that they hold",
        "lock_step": "nothing goes on before the consumer has taken the last event",
    }
)
"""Every capability, and what needs it."""

OF_GRAPHS: Final = frozenset(
    (
        "parallel_calls",
        "equal_call_ids",
        "concurrent_calls",
        "return_directly",
        "streaming",
        "several_handlers",
        "next_twice",
        "run_locals",
        "lone_surrogates",
        "failed_history",
        "lock_step",
    )
)
"""What the graphs of LangGraph have, whoever makes them, beside their hooks."""

_OF_HOOK: Final[Mapping[str, str]] = MappingProxyType(
    {
        "before_agent": "before_agent",
        "before_model_rewrite_history": "before_model",
        "after_model_rewrite_history": "after_model",
        "after_agent": "after_agent",
        "wrap_model_call": "wrap_model",
        "wrap_invokable_tool_call": "wrap_tool",
        "wrap_streamable_tool_call": "wrap_streamable",
        LOW_LEVEL: "adapted_structs",
    }
)

OF_HOOKS: Final = frozenset(_OF_HOOK.values())
"""What handlers have a hook for; ``adapted_structs`` by one that adapters alone use."""


class CapabilityError(ConfigurationError):
    """The engine does not declare what the scenario needs."""

    def __init__(
        self, engine: str, capability: str, where: str, what: str = ""
    ) -> None:
        """Refuse it; ``what`` tells a capability that is none of ``CAPABILITIES``."""
        self.engine = engine
        self.capability = capability
        self.where = where
        super().__init__(
            f"{engine} does not declare {capability!r}, which {where} needs"
            f" ({what or CAPABILITIES[capability]}): play this scenario on another"
            " engine, or leave that out of it"
        )


class Declaring(Protocol):
    """Who says what it can do: a door to a dialect."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def capabilities(self) -> AbstractSet[str]:
        """What it declares."""
        ...


def refuse_lacking(
    engine: Declaring, needs: Iterable[tuple[str, str]], about: Mapping[str, str]
) -> None:
    """Raise CapabilityError for the first need that an engine does not declare.

    ``needs`` are capabilities with what needs them, ``about`` says what each is.
    """
    for capability, where in needs:
        if capability not in engine.capabilities:
            raise CapabilityError(engine.name, capability, where, about[capability])


class MissingExtraError(ImportError):
    """The packages of an engine are not installed."""

    def __init__(self, engine: str, extra: str, missing: str | None) -> None:
        self.engine = engine
        self.extra = extra
        super().__init__(
            f"engine {engine!r} needs {missing or 'a package'}, which is not"
            f" installed: {install_line(extra)}",
            name=missing,
        )


@contextmanager
def of_extra(engine: str, extra: str) -> Generator[None, None, None]:
    """Import inside what an extra brings; raises MissingExtraError where it lacks."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(engine, extra, error.name) from error


def refuse_undeclared(
    engine: str, declared: frozenset[str], config: ChatModelAgentConfig
) -> None:
    """Raise CapabilityError for the first thing in the configuration that is lacking.

    Also raises what ``hooks_of`` says about a handler that is none.
    """
    for capability, where in _needs(config):
        if capability not in declared:
            raise CapabilityError(engine, capability, where)


def needs(engine: str, extra: str, package: str, distribution: str) -> str:
    """Return the version of the package that an engine is made of.

    Raises MissingExtraError if it is not installed, without importing it.
    """
    try:
        found = find_spec(package)
    except ModuleNotFoundError:  # not even the package that it stands in
        found = None
    if found is None:
        raise MissingExtraError(engine, extra, package)
    try:
        return version(distribution)
    except PackageNotFoundError:  # a package that is on the path, uninstalled
        return ""


def hooks_by_name(handler: object) -> tuple[str, dict[str, AnyHook]]:
    """Return a handler's name and hooks, capability methods as what they stand for."""
    name, found = hooks_of(handler, set())
    return name, as_hooks(found)


def refusal_of(trace: Trace) -> str | None:
    """Return what a CapabilityError said if one ended the session or a run of it."""
    for each in trace.of("build_error", "event"):
        if each.data.get("class") == CapabilityError.__name__:
            return str(each.data.get("error"))
    return None


def lacking_of(refusal: str) -> str | None:
    """Return the capability that such a refusal names, None if it names none."""
    found = re.search(r"does not declare '(\w+)'", refusal)
    return found and found[1]


def _needs(config: ChatModelAgentConfig) -> Iterator[tuple[str, str]]:
    """Yield each capability that the configuration needs, and what needs it."""
    yield from _needs_of_structs(config)
    for handler in config.handlers:
        name, hooks = hooks_by_name(handler)
        for hook in hooks:
            yield _OF_HOOK[hook], f"{hook} of handler {name!r}"
    wraps = config.tools_config.tool_call_middlewares
    if len(config.middlewares) + len(config.handlers) + len(wraps) > 1:
        yield "several_handlers", "an agent of several extensions"
    yield from _needs_of_tools(config)
    if config.checkpoints is not None:
        yield "resume", "checkpoints"
    if config.retry is not None:
        yield "retry", "retry"
        if config.retry.fall_back:
            yield "fall_back", "retry.fall_back"


def _needs_of_tools(config: ChatModelAgentConfig) -> Iterator[tuple[str, str]]:
    tools = config.tools_config
    if tools.tool_call_middlewares:
        yield "tool_call_middlewares", "tools_config.tool_call_middlewares"
    if tools.unknown_tools_handler is not None:
        yield "unknown_tools_handler", "tools_config.unknown_tools_handler"
    if tools.sequential:
        yield "sequential", "tools_config.sequential"
    if tools.return_directly:
        yield "return_directly", "tools_config.return_directly"
    added = (tool for each in config.middlewares for tool in each.additional_tools)
    for meta in map(as_meta, (*tools.tools, *added)):
        if getattr(meta.tool, "stream", None) is not None:
            yield "streamable_tools", f"tool {meta.name!r}"


def _needs_of_structs(config: ChatModelAgentConfig) -> Iterator[tuple[str, str]]:
    for at, each in enumerate(config.middlewares):
        wraps = each.wrap_tool_call
        hooks = (each.before_chat_model, each.after_chat_model)
        for capability, needed in (
            ("struct_instruction", each.additional_instruction),
            ("struct_tools", each.additional_tools),
            ("struct_model_hooks", any(hook is not None for hook in hooks)),
            ("struct_tool_wrappers", wraps.invokable or wraps.streamable),
        ):
            if needed:
                yield capability, f"middlewares[{at}]"


class Refusing:
    """An engine that is asked for no more than these capabilities.

    ``build`` raises CapabilityError for a configuration that needs more, and a run with
    options, or one that streams, ends with one where that is not declared. What only a
    scenario tells, such as a hook that edits the instruction, is
    ``compat.engines.needs``.
    """

    def __init__(self, engine: Engine, capabilities: frozenset[str]) -> None:
        self.name = engine.name
        self.engine = engine
        self.capabilities = capabilities

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; raises CapabilityError, or what the engine raises."""
        refuse_undeclared(self.name, self.capabilities, config)
        agent = await self.engine.build(config, on_notice)
        if self.capabilities >= _OF_RUNS.keys():
            return agent
        keeps = hasattr(agent, "resume")
        return _KeepingAgent(self, agent) if keeps else _Agent(self, agent)


_OF_RUNS: Final = MappingProxyType(
    {"run_options": "a run with options", "streaming": "a run that streams"}
)
"""Capabilities that the call of a run shows, and who needs them."""


class _Agent:
    def __init__(self, engine: Refusing, agent: EngineAgent) -> None:
        self._engine = engine
        self._agent = agent

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
        **how: Any,  # noqa: ANN401  # as the agent takes them
    ) -> EngineRun:
        refused = self._refused(messages, options, stream=stream)
        if refused is not None:
            return refused
        given = {"options": options} if options else {}
        return self._agent.run(messages, stream, **given, **how)

    def _refused(
        self, messages: Sequence[Message], options: Options | None, *, stream: bool
    ) -> EngineRun | None:
        """Return a run that ends with what is not declared, None if all of it is."""
        asked = {"run_options": options, "streaming": stream}
        for capability, where in _OF_RUNS.items():
            if asked[capability] and capability not in self._engine.capabilities:
                refused = _refused(self._engine.name, capability, where)
                return GeneratedRun("", messages, refused)
        return None


class _KeepingAgent(_Agent):
    def resume(
        self,
        checkpoint: str,
        answers: Mapping[str, Json] | None = None,
        *,
        options: Options | None = None,
    ) -> EngineRun:
        refused = self._refused((), options, stream=False)
        given = {"options": options} if options else {}
        agent = cast("KeepingAgent", self._agent)
        return refused or agent.resume(checkpoint, answers, **given)


async def _refused(engine: str, capability: str, where: str) -> Yielded:
    raise CapabilityError(engine, capability, where)
    yield  # makes it a generator
