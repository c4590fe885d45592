"""What the worlds of one engine came to, counted clause by clause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
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
    given_up: bool = False
    """Whether the engine was lost before all worlds were played."""

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

    def survived(self, meant: Mapping[str, Sequence[int]]) -> Mapping[str, list[int]]:
        """Return of these worlds of clauses those that can be played once more.

        Where the engine hung it hangs again, and is waited for as long as a search.
        """
        if self.given_up:
            return {}
        found = {
            of: [e for e in at if e not in self.broken] for of, at in meant.items()
        }
        return {of: at for of, at in found.items() if at}
