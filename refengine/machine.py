"""The compiled parts of one agent, which all its runs share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from refengine.binding import Binder
from refengine.chain import Pipeline
from refengine.checkpoint import Keeper
from refengine.legacy import LegacyPass
from refengine.model_onion import ModelOnion
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.tools import ToolsConfig

if TYPE_CHECKING:
    from refengine.checkpoint import TypeRegistry


@dataclass(frozen=True, slots=True)
class Machine:
    """The compiled parts of one agent; the same for all its runs.

    ``keeper`` keeps its runs, if one does; ``types`` are those by which kept values are
    looked at, None if nobody looks. What each run would find anew in the parts is found
    here once: ``asks_bare`` tells that nothing stands around the model, no wrapper and
    no second attempt, ``sends_history`` that the model is sent the history just as it
    is kept, ``apologises`` that calls in the last iteration get an apology.
    """

    name: str
    profile: Profile
    max_iterations: int
    tools_config: ToolsConfig
    before: tuple[LegacyPass | Pipeline, ...]
    after: tuple[LegacyPass | Pipeline, ...]
    after_agent: Pipeline
    model: ModelOnion
    binder: Binder
    on_notice: OnNotice | None
    keeper: Keeper | None = None
    types: TypeRegistry | None = None
    asks_bare: bool = field(init=False)
    sends_history: bool = field(init=False)
    apologises: bool = field(init=False)

    def __post_init__(self) -> None:
        profile, put = self.profile, object.__setattr__
        put(self, "asks_bare", not self.model and self.model.retry is None)
        sends_history = (
            profile.instruction_place == "in_history"
            and profile.before_model_edits == "kept"
            and profile.unanswered_calls == "sent"
        )
        put(self, "sends_history", sends_history)
        put(self, "apologises", profile.exhaustion == "apology" and not self.after)

    @property
    def calls_once(self) -> bool:
        """Whether an agent without tools calls the model once and ends."""
        rule, binder = self.profile.without_tools, self.binder
        wrapped = binder.invokable.names or binder.streamable.names
        return rule == "single_call" or (rule == "loop_if_wrapped" and not wrapped)
