"""What is run, and what the child sets up: one side of a comparison, as data.

A setting says how many handlers of which hook, over which history, in which way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, Self, TypeAlias, cast

from pydantic import TypeAdapter

from benchmarks.parts import CALL

Form: TypeAlias = Literal["handlers", "adapted", "native"]
FORMS: Final[tuple[Form, ...]] = ("handlers", "adapted", "native")
"""Handlers as such; struct middleware adapted to handlers; the engine's own structs."""

STREAMED_HOOK: Final = "wrap_streamable_tool_call"
"""The hook for which the tool is one that streams."""
N: Final = 100
HISTORY: Final = 10
TOOLS: Final = 1


class JsonValues:
    """What goes to a child, or comes from it, as JSON values."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(cast("Any", self))

    @classmethod
    def of(cls, data: object) -> Self:
        """Return what ``to_json`` wrote."""
        return TypeAdapter(cls).validate_python(data)


@dataclass(frozen=True, slots=True)
class Setting(JsonValues):
    """One point of the axes; what is not named stands where the axes cross."""

    hook: str
    n: int = N
    history: int = HISTORY
    tools: int = TOOLS
    plain: bool = False
    """Hooks that are plain functions and not async ones."""
    stream: bool = False
    """A streaming run, of a model that streams."""
    form: Form = "handlers"

    @property
    def key(self) -> str:
        """Its name in every report."""
        ways = f"{'plain' if self.plain else 'async'}/{self._mode}/{self.form}"
        return (
            f"{self.hook}/n={self.n}/history={self.history}/tools={self.tools}/{ways}"
        )

    @property
    def _mode(self) -> str:
        return "stream" if self.stream else "invoke"

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of its tools; the model calls the first."""
        return CALL.name, *(f"tool-{at}" for at in range(1, self.tools))


Refused: TypeAlias = tuple[str | None, str]
Maker: TypeAlias = Literal["bare", "engine", "subject", "against"]


@dataclass(frozen=True, slots=True)
class SideSpec(JsonValues):
    """One side: who makes it, and of what.

    ``bare`` is written by hand, ``engine`` has handlers that do nothing, ``subject``
    and ``against`` have the user's: ``copies`` of his list, ``without`` the one at this
    place of it.
    """

    maker: Maker
    setting: Setting
    copies: int = 1
    without: int | None = None


@dataclass(frozen=True, slots=True)
class Effort(JsonValues):
    """How long is measured: set-ups, rounds of each, seconds of one sample."""

    sets: int
    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnsReply(JsonValues):
    """What came of it: the rounds of every set-up, and of which sides.

    ``refused`` holds (clause, why) of the sides that have no place in a round. The
    others stand in ``series`` in the order of ``positions``.
    """

    positions: tuple[int, ...]
    series: tuple[tuple[tuple[float, ...], ...], ...]
    refused: dict[int, Refused] = field(default_factory=dict[int, Refused])

    def column(self, position: int) -> int:
        """Return where the times of a side stand in each round."""
        return self.positions.index(position)
