"""What the replies of a child say: of its subject's code, and of each world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeAlias

from compat.pipes import Printed
from refengine.testing.branches import Arm
from refengine.testing.trace import Trace

Reply: TypeAlias = Mapping[str, Any]  # as the child wrote it


@dataclass(frozen=True)
class SidePlayed:
    """One world: its trace, how often each hook ran, the arms taken, what was printed.

    The traces of two sides are mostly equal, and then so is their text ``jsonl``.
    """

    jsonl: str
    hooks: Mapping[str, int]
    arms: frozenset[int]
    printed: Printed
    way: str | None = None

    @cached_property
    def trace(self) -> Trace:
        """What the world saw."""
        return Trace.from_jsonl(self.jsonl)


@dataclass(slots=True)
class SideLoaded:
    """What is known of a subject's code; grows with what it imports later.

    ``files`` are its own modules, relative to ``folder``, first the one that holds the
    subject. ``taken`` are the arms that ran at import, and ``printed`` what was printed
    there.
    """

    folder: Path
    intents: tuple[str, ...]
    taken: frozenset[int]
    printed: Printed
    files: tuple[str, ...] = ()
    arms: tuple[Arm, ...] = ()
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, reply: Reply, printed: Printed) -> Self:
        """Return what the reply to loading says."""
        folder, taken = Path(reply["folder"]), frozenset[int](reply["taken"])
        known = cls(folder, tuple(reply["intents"]), taken, printed)
        known.learn(reply)
        return known

    def learn(self, reply: Reply) -> None:
        """Take over what a reply tells that is new."""
        self.files += tuple(reply.get("files", ()))
        self.arms += tuple(Arm(**each) for each in reply.get("arms", ()))
        self.frameworks = reply.get("frameworks", self.frameworks)
