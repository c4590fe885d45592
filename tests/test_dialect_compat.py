"""LOOP-COMPAT and CB-COMPAT over generated worlds, a few of them.

The long search is a command of its own: python -m tools.dialect_compat
"""

from dataclasses import replace

import pytest

from compat.adapters.clients import client_v2_of
from compat.dialects.callbacks import CallbackAgent, SessionManager
from compat.dialects.stream_loop import LoopProcessor
from tools import dialect_compat
from tools.dialect_compat import PAIRS, FallibleClient, linear, search

LOOP, SESSIONS = PAIRS


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.law)
def test_adapted_side_does_the_same_in_generated_worlds(pair) -> None:
    told: list[str] = []

    assert not search(pair.law, 120, told.append)
    assert told == [f"{pair.law}: 120 worlds, the same on both sides"]


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
def test_side_under_another_posture_is_found_and_told(pair, monkeypatch) -> None:
    monkeypatch.setattr(dialect_compat, "PAIRS", (pair,))
    told: list[str] = []

    assert search(pair.law, 120, told.append)
    assert told[0].startswith(pair.law)
