"""The long search for a world that our adapters change (LOOP-COMPAT, CB-COMPAT).

    python -m tools.dialect_compat --worlds 10000 [--on WORKERS]

So many worlds of each kind are played on a linear processor and on the loop that
``loop_of`` makes of it, without results that ask for a follow-up, and with a client of
callbacks v1 and the one that ``client_v2_of`` makes of it, under the same posture of
failures. The same seed gives the same worlds. Exit code 1 if one was found; it is
printed as it is.

Worlds are made in lots, each of a seed of its own, and a lot is a part for a worker. No
world counts twice, so as many lots are played as there are worlds left for, until there
are enough.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count, islice
from math import ceil
from typing import Final

from compat.adapters.clients import client_v2_of, v1_callbacks
from compat.adapters.loops import loop_of
from compat.cli.on import ON, spread_on
from compat.dialects.callbacks import CallbackAgent, SessionManager
from compat.dialects.callbacks.profile import callbacks_profile
from compat.dialects.stream_loop import Limits, LinearProcessor, ResponseCallbacks
from compat.migration.corpus import make_corpus
from compat.migration.differences import Additions, TraceChannels, differences
from compat.spreading import Spread, UnitData
from compat.verdicts.migration import Difference
from refengine.messages import Message, ToolCall
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.fits import OWNERS, fit_of
from refengine.testing.subject_worlds.words import Words
from refengine.testing.subjects import Subject, play_alone
from refengine.testing.world import World
from tools.searching import answers, at_least_one, say

SEED: Final = 20260019
AT_ONCE: Final = 400
"""So many generated worlds are made of one seed; the next ones are of the next."""
WORDS: Final = Words(
    texts=("stop", "one two three", "{}"), names=("look", "save"), numbers=(2, 5)
)
"""What worlds are made of: ``stop`` has a callback raise, 2 and 5 are limits."""
CALLED: Final = 3
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


PAIRS: Final = (
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


def searched(part: UnitData) -> UnitData:
    """Return what the worlds of one lot show; this is what a worker plays.

    They are told by their digests, in order, up to the first that differs and no more
    than are asked for.
    """
    [pair] = [each for each in PAIRS if each.law == part["law"]]
    fit = fit_of([pair.source], [pair.source])
    if fit is None:
        raise LookupError(pair.source)  # there is one for each of our dialects
    seen: dict[str, None] = {}
    for each in make_corpus(WORDS, AT_ONCE, part["seed"], fit=fit).worlds:
        if len(seen) == part["worlds"]:
            break
        written = each.scenario.model_dump_json()
        digest = sha256(written.encode()).hexdigest()
        if digest in seen:
            continue
        seen[digest] = None
        found = compat_divergence(pair, each.scenario)
        if found is not None:
            world = each.scenario.model_dump(mode="json", exclude_defaults=True)
            said = f"{pair.law}: {found}\n{json.dumps(world)}"
            return {"worlds": [*seen], "differs": said}
    return {"worlds": [*seen], "differs": None}


def search(
    law: str,
    worlds: int,
    tell: Callable[[str], object] = say,
    spread: Spread | None = None,
) -> bool:
    """Play so many worlds, no two the same; tell whether one differs, and which."""
    about = {"law": law, "worlds": worlds}
    seen: set[str] = set()
    seeds = count(SEED)
    while len(seen) < worlds:
        lots = islice(seeds, ceil((worlds - len(seen)) / AT_ONCE))
        parts = [{**about, "seed": each} for each in lots]
        for lot in answers("dialect_compat", parts, spread):
            seen.update(lot["worlds"])
            if lot["differs"] is not None and len(seen) <= worlds:
                tell(lot["differs"])
                return True
    tell(f"{law}: {worlds} worlds, the same on both sides")
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Search for both laws; returns the exit code."""
    parser = ArgumentParser(prog="python -m tools.dialect_compat")
    parser.add_argument("--worlds", type=at_least_one, default=10_000)
    parser.add_argument("--on", metavar="WORKERS", help=ON)
    given = parser.parse_args(arguments)
    with spread_on("tools.dialect_compat", given.on) as spread:
        found = [search(each.law, given.worlds, spread=spread) for each in PAIRS]
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
