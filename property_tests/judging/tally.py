"""What the worlds of one engine came to, counted clause by clause."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from property_tests.judging.pool import Reply


@dataclass(slots=True)
class Tally:
    """What the worlds of one engine came to, clause by clause."""

    decided: Counter[str] = field(default_factory=Counter[str])
    recorded: Counter[str] = field(default_factory=Counter[str])
    failing: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict[str, list[int]](list)
    )
    errors: dict[str, tuple[int, str]] = field(
        default_factory=dict[str, tuple[int, str]]
    )
    refused: set[int] = field(default_factory=set[int])
    broken: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, world: int, reply: Reply, *, recorded: bool = False) -> None:
        """Count what one world decided."""
        if "broken" in reply:
            self.broken[world] = str(reply["broken"])
            return
        if reply["refused"] is not None:
            self.refused.add(world)
            return
        self.decided.update(reply["decided"].keys())
        if recorded:
            self.recorded.update(reply["decided"].keys())
        for clause in reply["failed"]:
            self.failing[clause].append(world)
        for clause, text in reply["errors"].items():
            if clause not in self.errors or world < self.errors[clause][0]:
                self.errors[clause] = (world, text)
