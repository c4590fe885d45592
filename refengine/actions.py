"""What a tool asks of the run besides its result (contract EVT)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from refengine.messages import NOTHING, Json


@dataclass(frozen=True, slots=True)
class AgentAction:
    """What a tool asks of the run besides its result; it travels on its event.

    The engine carries it and does not act on it: the dialects of seeds 002 to 004 do.
    """

    exit: bool = False
    transfer_to: str | None = None
    break_loop: bool = False
    state_delta: Mapping[str, Json] = field(default=NOTHING, hash=False)
