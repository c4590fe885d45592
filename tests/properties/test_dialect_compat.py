"""LOOP-COMPAT and CB-COMPAT: our adapters change no world of a dialect.

Worlds are played on a linear processor and on the loop that ``loop_of`` makes of it,
without results that ask for a follow-up, and with a client of callbacks v1 and the one
that ``client_v2_of`` makes of it, under the same posture of failures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.adapters.clients import client_v2_of, v1_callbacks
from compat.adapters.loops import loop_of
from compat.dialects.callbacks import CallbackAgent, SessionManager
from compat.dialects.callbacks.profile import callbacks_profile
from compat.dialects.stream_loop import (
    Limits,
    LinearProcessor,
    LoopProcessor,
    ResponseCallbacks,
)
from compat.migration.corpus import make_corpus
from compat.migration.differences import Additions, TraceChannels, differences
from compat.verdicts.migration import Difference
from refengine.messages import Message, ToolCall
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.fits import OWNERS, fit_of
from refengine.testing.subject_worlds.words import Words
from refengine.testing.subjects import Subject, play_alone
from refengine.testing.world import World
from tests.properties.support import noted, searching

AT_ONCE = 60
"""So many generated worlds are made of one seed, beside those that are fixed."""
WORDS = Words(
    texts=("stop", "one two three", "{}"), names=("look", "save"), numbers=(2, 5)
)
"""What worlds are made of: ``stop`` has a callback raise, 2 and 5 are limits."""
CALLED = 3
"""A client fails when it is told of something so often."""


def linear(world: World) -> tuple[LinearProcessor, ResponseCallbacks]:
    """Return a processor with callbacks of all kinds, one of which may raise."""
    processor = LinearProcessor(
        world.model,
        limits=Limits(round_seconds=5, tool_seconds=2, calls_per_round=5),
        instruction=world.instruction or "",
    )
    return processor, _callbacks(world)


def looped(world: World) -> tuple[LinearProcessor, ResponseCallbacks]:
    """Return the same as a loop."""
    processor, callbacks = linear(world)
    return loop_of(processor), callbacks


def _callbacks(world: World) -> ResponseCallbacks:
    def chunk(text: str) -> None:
        world.effect("chunk", text)
        if "stop" in text:
            raise ValueError(text)

    return ResponseCallbacks(
        on_chunk=chunk,
        on_tool_call=lambda call: world.effect("call", call.arguments),
        on_tool_result=lambda result: world.effect("result", result.text),
        on_part_event=lambda event: world.effect("part", event.state),
        on_parts_change=lambda parts: world.effect("parts", len(parts)),
        on_error=lambda error, where: world.effect("error", [str(error), where]),
        on_end=lambda result: world.effect("end", result.status),
    )


class FallibleClient:
    """A client of v1, which fails once it has been told of something so often."""

    def __init__(self, world: World) -> None:
        self._world, self._told = world, 0

    def handle_agent_step(self, step_index: int, messages: Sequence[Message]) -> None:
        """Put down a step."""
        self._tell("step", [step_index, len(messages)])

    def handle_tool_call(self, call: ToolCall) -> None:
        """Put down a call."""
        self._tell("call", [call.id, call.name, call.arguments])

    def _tell(self, what: str, data: object) -> None:
        self._world.effect(what, data)
        self._told += 1
        if self._told == CALLED:
            raise ValueError(what)


def of_v1(world: World) -> SessionManager:
    """Return a manager of the first version, with a client in its slot."""
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent, profile="callbacks-v1")
    manager.set_callbacks(v1_callbacks(FallibleClient(world)))
    return manager


def of_v2(world: World) -> SessionManager:
    """Return one of the second under the first's posture, with that client adapted."""
    agent = CallbackAgent(world.model, world.tools)
    failing = replace(callbacks_profile("callbacks-v2"), failures="aborts")
    manager = SessionManager(agent, profile=failing)
    manager.set_client(client_v2_of(FallibleClient(world)))
    return manager


@dataclass(frozen=True, slots=True)
class AdaptedPair:
    """What is adapted: its law, both sides, and by which source worlds are chosen."""

    law: str
    old: Subject
    new: Subject
    source: str


PAIRS = (
    AdaptedPair("LOOP-COMPAT", linear, looped, "compat.dialects.stream_loop"),
    AdaptedPair("CB-COMPAT", of_v1, of_v2, "compat.dialects.callbacks"),
)


def compat_divergence(pair: AdaptedPair, world: Scenario) -> Difference | None:
    """Return the first difference of two sides in a world, None if there is none."""
    old, new = (
        TraceChannels(play_alone(world, each).trace.to_jsonl())
        for each in (pair.old, pair.new)
    )
    masks = [Additions(*each) for each in OWNERS]
    return next(iter(differences(old, new, masks=masks)), None)


def worlds_of(pair: AdaptedPair, seed: int) -> Iterator[Scenario]:
    fit = fit_of([pair.source], [pair.source])
    assert fit is not None  # there is one for each of our dialects
    for each in make_corpus(WORDS, AT_ONCE, seed, fit=fit).worlds:
        yield each.scenario


LOOP, SESSIONS = PAIRS


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.law)
@searching(2, long=150)
@given(st.integers(0, 2**32))
def test_adapted_side_does_the_same_in_generated_worlds(pair, seed) -> None:
    for world in worlds_of(pair, seed):
        found = compat_divergence(pair, world)
        if found is not None:
            noted(world, pair.law)
        assert found is None


def open_parts(world):
    processor, callbacks = linear(world)
    made = LoopProcessor(world.model, profile="loop-adr", limits=processor.limits)
    return made, callbacks


def isolating(world):
    manager = SessionManager(CallbackAgent(world.model, world.tools))
    client = FallibleClient(world)
    manager.set_client(client_v2_of(client))
    return manager


@pytest.mark.parametrize(
    "pair", [replace(LOOP, new=open_parts), replace(SESSIONS, new=isolating)]
)
def test_side_under_another_posture_is_found(pair) -> None:
    assert any(compat_divergence(pair, world) for world in worlds_of(pair, 20260019))
