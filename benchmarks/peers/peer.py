"""What another framework has to give so that a handler of it can be measured.

Each framework does the same run: its own kind of model, scripted and in this process,
asks for one tool, the tool answers, the model answers. Handlers that do nothing stand
at one hook of it. Nothing waits, nothing reaches a network.

The frameworks that are measured stand in a table, by name. A framework's time is worth
nothing if it did not do the work, so there is a gate: what a run does is counted
without touching what is measured. With no ``PeerCounts`` a part is used as it was
written: no test, no call and no frame more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from types import MappingProxyType
from typing import Final, Literal, ParamSpec, Self, TypeAlias, TypeVar, cast

from benchmarks.kinds import kind_of
from benchmarks.measure import Work
from benchmarks.parts import ANSWERS, CALL
from benchmarks.specs import JsonValues
from refengine.errors import RefengineError

QUESTION: Final = "What does the tool say?"
ANSWER: Final = ANSWERS.content
TOOL: Final = CALL.name
TOOL_TEXT: Final = "hello"
"""What the tool is called with, as ``text``, and what it gives back."""
CALL_ID: Final = CALL.id
MODEL_CALLS: Final = 2
TOOL_CALLS: Final = 1


BEFORE_MODEL: Final = "before_model_rewrite_history"
AFTER_MODEL: Final = "after_model_rewrite_history"
WRAP_MODEL: Final = "wrap_model_call"
WRAP_TOOL: Final = "wrap_invokable_tool_call"
"""Hooks of ours that others are measured beside."""


@dataclass(slots=True)
class PeerCounts:
    """What a run did: calls of the model, of the tool and of all handlers together."""

    model: int = 0
    tool: int = 0
    hooks: int = 0


Build: TypeAlias = Callable[[int, PeerCounts | None], Work]
"""Sets a framework up with so many handlers and returns one run of it.

The run returns the text of its answer. With ``PeerCounts`` model, tool and handlers
count their calls in it; without one they do nothing, as when they are measured.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """One hook of a framework, and the hook of ours that does the same.

    ``hook`` is the framework's own name of it. A stream has none: ``n`` is how many
    chunks its answer comes in, and each that the consumer gets is counted as a call.
    """

    hook: str
    ours: str
    build: Build

    @property
    def unit(self) -> str:
        """What ``n`` counts."""
        return "handlers" if self.ours else "chunks"

    @property
    def calls(self) -> int:
        """How often one handler's hook is called in one run, as ours is."""
        return kind_of(self.ours).calls if self.ours else 1


@dataclass(frozen=True, slots=True)
class Peer:
    """A framework: its name here, and the distribution whose version is reported.

    ``variants`` imports the framework and raises ImportError where it is not installed.
    ``streams`` are runs whose answer is streamed, as far as we have written any.
    """

    name: str
    distribution: str
    variants: Callable[[], Sequence[Variant]]
    streams: Callable[[], Sequence[Variant]] = tuple


def _of(module: str, what: str) -> Callable[[], Sequence[Variant]]:
    """Return what imports a framework's module and returns what it has of these."""

    def variants() -> Sequence[Variant]:
        found = import_module(f"{__package__}.frameworks.{module}")
        return cast("Sequence[Variant]", getattr(found, what, ()))

    return variants


_DISTRIBUTIONS: Final = {
    "langchain": "langchain",
    "langgraph": "langgraph",
    "google-adk": "google-adk",
    "pydantic-ai": "pydantic-ai-slim",
    "agent-framework": "agent-framework-core",
    "strands": "strands-agents",
    "flow": "refengine",
}
PEERS: Final[Mapping[str, Peer]] = MappingProxyType(
    {
        name: Peer(name, distribution, _of(module, "VARIANTS"), _of(module, "STREAMS"))
        for name, distribution in _DISTRIBUTIONS.items()
        for module in (name.replace("-", "_"),)
    }
)
"""The frameworks that are measured, by name; none of them is imported yet."""
NAMES: Final = tuple(PEERS)


class UnknownPeerError(RefengineError):
    """A peer that is not in the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no peer {name!r} is measured; there are {', '.join(NAMES)}")


def peer_named(name: str) -> Peer:
    """Return the peer; raises UnknownPeerError. Its framework is not imported yet."""
    if name not in PEERS:
        raise UnknownPeerError(name)
    return PEERS[name]


P = ParamSpec("P")
T = TypeVar("T")


def counted(
    work: Callable[P, Awaitable[T]],
    seen: PeerCounts | None,
    what: Literal["model", "tool", "hooks"],
) -> Callable[P, Awaitable[T]]:
    """Return the coroutine function that adds its calls to ``what`` of ``seen``.

    It keeps its name and signature, from which frameworks make a tool's schema. Without
    ``PeerCounts`` it is returned as it is.
    """
    if seen is None:
        return work

    @wraps(work)
    async def counting(*args: P.args, **kwargs: P.kwargs) -> T:
        setattr(seen, what, getattr(seen, what) + 1)
        return await work(*args, **kwargs)

    return counting


def watched(part: T, hook: str, seen: PeerCounts | None) -> T:
    """Return the part; with ``PeerCounts`` calls of its method ``hook`` are counted.

    Counting leaves no frame on the stack, so a stack of such parts is as deep as one
    that does not count, and fails at the same number of them.
    """
    if seen is not None:
        setattr(part, hook, _noted(getattr(part, hook), seen))
    return part


def _noted(work: Callable[P, T], seen: PeerCounts) -> Callable[P, T]:
    def noting(*args: P.args, **kwargs: P.kwargs) -> T:
        seen.hooks += 1
        return work(*args, **kwargs)

    return noting


async def echo(text: str) -> str:
    """Say what it is told."""
    return text


TIMES: Final = 3
"""How often a run is tried: state left over from one time would show the next."""


class WorkNotDoneError(AssertionError):
    """A run that ended without an error and did not do what it is measured for.

    ``clause`` is the sentence of the contract that it did not keep, if there is one.
    """

    def __init__(self, what: str, clause: str | None = None) -> None:
        self.what = what
        self.clause = clause
        super().__init__(what)


async def admit(variant: Variant, n: int, times: int = TIMES) -> None:
    """See that runs with ``n`` handlers do their work, several in a row.

    Raises WorkNotDoneError, and whatever the framework raises.
    """
    seen = PeerCounts()
    work = variant.build(n, seen)
    for at in range(1, times + 1):
        seen.model = seen.tool = seen.hooks = 0
        answer = await work()
        _check(f"run {at} with {n} {variant.unit}", variant, n, seen)
        if answer != ANSWER:
            raise WorkNotDoneError(f"run {at} answered {answer!r}, and not {ANSWER!r}")


def _check(run: str, variant: Variant, n: int, seen: PeerCounts) -> None:
    hooks = kind_of(variant.ours).clause if variant.ours else None
    for part, clause, did, should in (
        ("the tool", "RUN-004", seen.tool, TOOL_CALLS),
        ("the model", "RUN-002", seen.model, MODEL_CALLS),
        (
            "the handlers" if variant.ours else "the consumer",
            hooks,
            seen.hooks,
            n * variant.calls,
        ),
    ):
        if did != should:
            what = f"{run} called {part} {did} times, and not {should}"
            raise WorkNotDoneError(what, clause)


@dataclass(frozen=True, slots=True)
class PeerPlan(JsonValues):
    """What a child is asked for. Times are seconds.

    ``points`` are measured whatever they cost; ``further`` ones as long as handlers
    did not yet make up half of the run, which is where a slope is lost in noise.
    A point of either list is left out where the peer cannot run it, but for those up to
    ``needed``; three of those at least, with 0, for there to be a base run and a line.
    """

    points: tuple[int, ...]
    further: tuple[int, ...]
    needed: int
    series: int
    rounds: int
    sample: float
    budget: float
    memory: tuple[int, int]
    limit: float
    """Of one child that measures."""
    deepest: int
    """How many handlers are tried."""
    bisect: bool
    """Whether to look for the number from which on it fails."""
    probe: float
    """Of one child that tries; a run that takes longer is too slow."""
    variants: int | None = None
    """How many hooks of each peer; None for all."""

    @property
    def least(self) -> Self:
        """What is left when it measures nothing beyond ``needed`` handlers."""
        points = tuple(n for n in self.points if n <= self.needed)
        return replace(self, points=points, further=())


def plan(*, quick: bool) -> PeerPlan:
    """Return what the full run takes, or the quick one."""
    if quick:
        return PeerPlan(
            points=(0, 10, 50),
            further=(300,),
            needed=50,
            series=5,
            rounds=5,
            sample=0.002,
            budget=0.05,
            memory=(10, 50),
            limit=90.0,
            deepest=600,
            bisect=False,
            probe=30.0,
            variants=1,
        )
    return PeerPlan(
        points=(0, 1, 10, 100, 300),
        further=(1_000, 3_000, 10_000),
        needed=100,
        series=5,
        rounds=20,
        sample=0.005,
        budget=0.35,
        memory=(10, 100),
        limit=180.0,
        deepest=2_000,
        bisect=True,
        probe=20.0,
    )
