"""What another framework has to give so that a handler of it can be measured.

Each framework does the same run: its own kind of model, scripted and in this process,
asks for one tool, the tool answers, the model answers. Handlers that do nothing stand
at one hook of it. Nothing waits, nothing reaches a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from benchmarks.measure import Work
from benchmarks.parts import ANSWERS, CALL

QUESTION: Final = "What does the tool say?"
ANSWER: Final = ANSWERS.content
TOOL: Final = CALL.name
TOOL_TEXT: Final = "hello"
"""What the tool is called with, as ``text``, and what it gives back."""
CALL_ID: Final = CALL.id
MODEL_CALLS: Final = 2
TOOL_CALLS: Final = 1


@dataclass(slots=True)
class Seen:
    """What a run did: calls of the model, of the tool and of all handlers together."""

    model: int = 0
    tool: int = 0
    hooks: int = 0


Build: TypeAlias = Callable[[int, Seen | None], Work]
"""Sets a framework up with so many handlers and returns one run of it.

The run returns the text of its answer. With a ``Seen`` model, tool and handlers count
their calls in it; without one they do nothing, as they are when they are measured.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """One hook of a framework, and the hook of ours that does the same.

    ``hook`` is the framework's own name of it. ``calls`` is how often one handler's
    hook is called in one run: twice around the model, once around the tool.
    """

    hook: str
    ours: str
    calls: int
    build: Build


@dataclass(frozen=True, slots=True)
class Peer:
    """A framework: its name here, and the distribution whose version is told.

    ``variants`` imports the framework and raises ImportError where it is not installed.
    """

    name: str
    distribution: str
    variants: Callable[[], Sequence[Variant]]
