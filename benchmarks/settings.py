"""What is run: how many handlers of which hook, over which history, in which way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Self, TypeAlias

from benchmarks.parts import CALL

Form: TypeAlias = Literal["handlers", "adapted", "native"]
FORMS: Final[tuple[Form, ...]] = ("handlers", "adapted", "native")
"""Handlers as such; struct middleware adapted to handlers; the engine's own structs."""

STREAMED_HOOK: Final = "wrap_streamable_tool_call"
"""The hook for which the tool is one that streams."""
N: Final = 100
HISTORY: Final = 10
TOOLS: Final = 1


@dataclass(frozen=True, slots=True)
class Setting:
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

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Return the setting that ``to_json`` wrote."""
        return cls(**data)
