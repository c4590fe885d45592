"""What a stream loop can be asked for, and what of it a scenario needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from compat.engines.capabilities import refuse_lacking
from compat.engines.stream_loop.doors import StreamLoopEngine
from compat.engines.stream_loop.scenario import LoopScenario

LOOP_CAPABILITIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "loops": "a result may ask for another round",
        "linear": "it can be played as one round, too",
        "adapted": "a loop is made of a processor of one round",
        "history": "a call goes on from what was said before",
        "instruction": "an instruction stands before all messages",
        "prompts": "the next prompt can be another",
        "parts": "changes of parts are told",
        "status": "it tells on_end, and its result says how it ended",
        "errors": "it tells on_error",
        "limits": "time, calls and lengths have limits",
        "logs": "it writes records to a logger",
        "cancellation": "a call is cancelled from outside",
    }
)
"""Every capability of a stream loop, and what it is."""


def refuse_loop(engine: StreamLoopEngine, scenario: LoopScenario) -> None:
    """Raise CapabilityError for the first thing of a scenario that an engine lacks."""
    refuse_lacking(engine, loop_needs(scenario), LOOP_CAPABILITIES)


def loop_needs(scenario: LoopScenario) -> Iterator[tuple[str, str]]:
    """Yield each capability that a scenario needs, and what needs it."""
    of_all: tuple[tuple[str, object, str], ...] = (
        ("instruction", scenario.instruction, "the instruction"),
        ("prompts", scenario.next_prompt is not None, "the next prompt"),
        ("limits", scenario.limits.model_dump(exclude_none=True), "the limits"),
        ("linear", scenario.compares in {"forms", "adapted"}, "the comparison"),
        ("loops", scenario.compares == "forms", "the comparison"),
        ("adapted", scenario.compares == "adapted", "the comparison"),
    )
    yield from ((each, where) for each, needed, where in of_all if needed)
    for at, turn in enumerate(scenario.turns):
        of_turn: tuple[tuple[str, object], ...] = (
            ("history", turn.continues),
            ("loops", turn.max_iterations is not None),
            ("cancellation", turn.cancel_after is not None),
        )
        yield from ((each, f"turn {at}") for each, needed in of_turn if needed)
