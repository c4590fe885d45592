"""Subjects: middleware or handlers of one side of a migration, played in a world.

    played = play_alone(scenario, subject)

A subject is a function ``subject(world)``, called once a session. It returns a list of
struct middlewares and handlers, the configuration of an agent, a graph that LangGraph
or LangChain compiled, agents of ADK or of pydantic-ai, or something whose class names
its own player (verdicts, Migration). Extensions stand between the scenario's own:
struct middlewares before them, and handlers after them. A graph is all there is, and so
are agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import ConfigurationError
from refengine.hooks import AgentConfig
from refengine.profile import SEED_001, Profile
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.clock import Loops, jump, no_waiting, run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.json_values import is_list
from refengine.testing.observers import HookWatch, observed
from refengine.testing.person import AnsweringEngine, NotKeptError, Person
from refengine.testing.scenario import Scenario
from refengine.testing.session import Session
from refengine.testing.trace import Trace
from refengine.testing.world import World

Subject: TypeAlias = Callable[[World], object]
Way: TypeAlias = Literal["sync", "async"]

WAYS: Final[tuple[Way, Way]] = ("sync", "async")
"""The ways in which a graph may be run."""
RUNNABLE: Final = ("invoke", "ainvoke", "stream", "astream", "get_graph")
"""What a graph can do, and whatever else LangChain runs."""
GRAPH: Final = (*RUNNABLE, "get_state")
"""What a graph can do: it has a state."""
OWN_STORE: Final = "refengine.state"
"""What keeps the runs of extensions that ask."""
F = TypeVar("F", bound=Callable[..., object])

ADK: Final = "google.adk."
"""Where the classes of ADK are made."""
PYDANTIC_AI: Final = "pydantic_ai."
"""Where those of pydantic-ai are."""

PLAYER: Final = "__refengine_player__"
"""The attribute by which a class says who plays what is built of it: ``module:name``.

Of a pair that a subject returns the first part counts. So the harness plays shapes that
it knows nothing of, and imports no more than the subject did.
"""

INTENDS: Final = "__refengine_intends__"
"""The attribute that marks a predicate on a trace; its value says what is intended."""


INSTEAD: Final = (
    "return a list of AgentMiddleware and handlers, world.config(...), a graph built"
    " from world.as_langchain(), agents built from world.as_adk(), or an agent built"
    " from world.as_pydantic_ai()"
)
"""What to do about most that cannot be played."""
AS_PROGRAM: Final = (
    "return a graph built from world.as_langchain(), or write a program around it and"
    " judge that: --old-cmd and --new-cmd"
)
GRAPH_INSTEAD: Final = (
    "return a graph built from world.as_langchain(), or leave the wire out"
)


class SubjectError(TypeError):
    """A subject returned something that cannot be played."""

    def __init__(self, got: object, why: str, instead: str = INSTEAD) -> None:
        self.got = got
        super().__init__(f"subject(world) returned {_short(got)}: {why}; {instead}")


class UnbuiltError(Exception):
    """A framework refused to build what a subject returned; its error is the cause."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(str(cause))


@dataclass(frozen=True, slots=True)
class Played:
    """One session: what the world saw, and how often each hook of the subject ran."""

    trace: Trace
    hooks: Mapping[str, int]
    way: Way | None = None
    """How a graph was run; extensions of our own engine have one way only."""
    refused: str | None = None
    """Why a framework refused what this world gave it, if it did."""
    keeps: str | None = None
    """What keeps its runs, if anything does that goes on with them."""


Player: TypeAlias = Callable[[Scenario, Subject, World, object], Played]
"""Plays a scenario with what the subject returned in that world."""


class _ElsewherePlayed(BaseException):
    """A subject returned something that is played by other means: a graph, or agents.

    No Exception: what a subject returns must not look like an error of its own.
    """

    def __init__(self, world: World, got: object) -> None:
        self.world = world
        self.got = got


def intends(text: str) -> Callable[[F], F]:
    """Mark a predicate on a trace as what a subject intends, in words.

    It is checked on both sides of a migration, because equal is not right. The
    predicate is given a Trace of JSON values and returns whether all is well.
    """

    def mark(predicate: F) -> F:
        setattr(predicate, INTENDS, text)
        return predicate

    return mark


async def play_subject(
    scenario: Scenario, subject: Subject, profile: Profile = SEED_001
) -> Played:
    """Play one session with the subject's extensions in every agent of the scenario.

    What it asks by ``interrupt`` is answered as the scenario's runs say (``denies``).
    Raises SubjectError, EffectError, EndlessQuestionsError, or what the subject itself
    raises. A graph is refused: it may have to be run where no event loop is, so it is
    ``play_alone`` that plays it.
    """
    try:
        try:
            return await _play(scenario, subject, profile)
        except NotKeptError:
            return await _play(scenario, subject, profile, kept=True)
    except _ElsewherePlayed as found:
        what = "a graph" if is_graph(found.got) else type(found.got).__name__
        why = f"play_subject has no place for {what}: use play_alone"
        raise SubjectError(found.got, why) from None


def play_alone(
    scenario: Scenario,
    subject: Subject,
    profile: Profile = SEED_001,
    ways: Sequence[Way] = WAYS,
    wire: str | None = None,
    loops: Loops | None = None,
) -> Played:
    """Play one session from where no event loop runs, whatever the subject returns.

    A graph is run in the scenario's way if that is among ``ways``, else in the other
    one, and where it cannot be run so, in another session, the other way. If there is
    no way left, the frameworks' error is what the run ends with. With ``wire``, the
    base URL of a scripted server, the graph's model is a vendor's client that asks it,
    there is the way "sync" only, and nothing but graphs can be played. Extensions of
    our own engine are run in one of ``loops``, or in a loop that is new. Raises as
    ``play_subject``, and MissingExtraError.
    """
    run_in = run if loops is None else loops.run
    try:
        with no_waiting(jump):
            try:
                return run_in(_play(scenario, subject, profile, wire))
            except NotKeptError:
                return run_in(_play(scenario, subject, profile, wire, kept=True))
    except _ElsewherePlayed as found:
        own = player_of(found.got)
        if own is not None:
            return own(scenario, subject, found.world, found.got)
        if is_of(PYDANTIC_AI, found.got):
            from refengine.testing.pydantic_ai.playing import play_pydantic_ai  # noqa: PLC0415  # an extra

            return play_pydantic_ai(scenario, found.world, found.got, ways)
        if is_of(ADK, found.got):
            from refengine.testing.adk.stack import play_adk  # noqa: PLC0415  # an extra

            return play_adk(scenario, found.world, found.got)
        from refengine.testing.graphs.session import play_graph  # noqa: PLC0415  # an extra

        return play_graph(scenario, subject, found.world, found.got, ways)


async def _play(
    scenario: Scenario,
    subject: Subject,
    profile: Profile,
    wire: str | None = None,
    *,
    kept: bool = False,
) -> Played:
    """Play one session; raises NotKeptError if runs were to be kept, and are not."""
    watch = HookWatch()
    person = Person(scenario, keeps=kept or scenario.keeps)

    def dress(world: World, config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        world.wire = wire
        person.sees(world.recorder)
        world.recorder.elapsed = world.now
        worn = _worn(subject(world), world, config, watch)
        person.takes(world)
        return worn

    engine = AnsweringEngine(ReferenceEngine(profile), person)
    # A run that is resumed goes on with new objects, as in another process.
    session = Session(scenario, engine, dress, watch.names, rebuild=True)
    trace = await session.play()
    keeps = OWN_STORE if kept and not asks_itself(scenario) else None
    return Played(trace, dict(watch.hooks), keeps=keeps)


def asks_itself(scenario: Scenario) -> bool:
    """Tell whether a world's own tools or extensions ask, whatever a subject does."""
    written = scenario.model_dump_json(exclude_defaults=True)
    return '"interrupt"' in written or '"ask"' in written


def _worn(
    got: object, world: World, config: ChatModelAgentConfig, watch: HookWatch
) -> ChatModelAgentConfig:
    if is_graph(got):
        raise _ElsewherePlayed(world, got)
    if world.wire is not None:
        raise SubjectError(got, "over the wire only graphs are played", GRAPH_INSTEAD)
    if any(is_of(each, got) for each in (ADK, PYDANTIC_AI)) or player_of(got):
        raise _ElsewherePlayed(world, got)
    if isinstance(got, ChatModelAgentConfig):
        config, given = got, (*got.middlewares, *got.handlers)
        if got.model is not world.model:
            raise SubjectError(got, "its model is not world.model, so nobody sees it")
        if not _keeps_places(got, world):
            why = "the world's own extensions are not where world.config() puts them"
            raise SubjectError(got, why)
    elif is_list(got):
        given = tuple(got)
    elif _can(got, RUNNABLE):
        why = f"{type(got).__name__} is no graph, so its state cannot be seen"
        raise SubjectError(got, why, AS_PROGRAM)
    else:
        raise SubjectError(got, "that is not a list, a configuration or a graph")
    mine = [each for each in given if not world.owns(each)]
    if not mine and config is not got:
        raise SubjectError(got, "there is nothing in it to look at")
    return _watched(config, mine, world, watch)


def is_graph(got: object) -> bool:
    """Tell whether a subject returned a graph, by what every graph can do.

    LangGraph is not imported for that: what returned one has done so.
    """
    return _can(got, GRAPH)


def _can(got: object, names: Sequence[str]) -> bool:
    return all(callable(getattr(got, name, None)) for name in names)


def is_of(package: str, got: object) -> bool:
    """Tell whether a subject returned something of a package, or a pair that has it.

    By where its class was made: the package is not imported for that, since what
    returned one has done so.
    """
    parts = cast("tuple[object, ...]", got) if isinstance(got, tuple) else (got,)
    return any(
        kind.__module__.startswith(package)
        for part in parts
        for kind in type(part).__mro__
    )


def player_of(got: object) -> Player | None:
    """Return who plays what a subject returned, None if its class names nobody.

    Raises what importing the player raises.
    """
    first = cast("tuple[object, ...]", got)[:1] if isinstance(got, tuple) else (got,)
    named: object = getattr(type(*first), PLAYER, None) if first else None
    if not isinstance(named, str):
        return None
    module, _, name = named.partition(":")
    return cast("Player", getattr(import_module(module), name))


def _keeps_places(config: ChatModelAgentConfig, world: World) -> bool:
    """Tell whether the world's own structs stand first, and its handlers last."""
    structs, handlers = world.middlewares, world.handlers
    first = config.middlewares[: len(structs)]
    last = config.handlers[max(len(config.handlers) - len(handlers), 0) :]
    found, own = (*first, *last), (*structs, *handlers)
    return [*map(id, found)] == [*map(id, own)]


def _watched(
    config: ChatModelAgentConfig, mine: Sequence[object], world: World, watch: HookWatch
) -> ChatModelAgentConfig:
    """Return the configuration with all that is the subject's watched."""
    structs = [each for each in mine if isinstance(each, AgentMiddleware)]
    others = [each for each in mine if not isinstance(each, AgentMiddleware)]
    taken = [*(each.name for each in world.handlers), ToolObserver.name]
    try:
        handlers = watch.handlers(others, taken)
    except ConfigurationError as error:
        raise SubjectError(mine, str(error)) from error
    wraps = [
        each
        if world.owns(each)
        else watch.tool_middleware(each, f"tool_call_middlewares[{at}]")
        for at, each in enumerate(config.tools_config.tool_call_middlewares)
    ]
    watched = [watch.middleware(each, at) for at, each in enumerate(structs)]
    return replace(
        config,
        tools_config=replace(config.tools_config, tool_call_middlewares=wraps),
        middlewares=(*world.middlewares, *watched),
        handlers=(*handlers, *world.handlers, ToolObserver(world)),
    )


class ToolObserver:
    """The last handler: what runs under it is observed, whosever tool it is.

    A world's tools observe themselves. Those of a subject are put into an observing
    one here, where no extension comes after; model and wrappers see the same info. It
    has (no) legacy hooks, so that an agent of struct middlewares alone stays one.
    """

    name = "world"
    legacy_hooks: Final[Mapping[str, str]] = MappingProxyType({})

    def __init__(self, world: World) -> None:
        self._world = world

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Put the subject's own tools into observing ones."""
        recorder = self._world.recorder
        config.tools = [observed(meta, recorder) for meta in config.tools]
        return ctx


def _short(value: Any) -> str:  # noqa: ANN401  # whatever a subject returned
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
