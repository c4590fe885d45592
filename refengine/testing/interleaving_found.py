"""What exploring came to, and how a failure is told."""

from __future__ import annotations

from dataclasses import dataclass

from refengine.testing.interleaving_loop import Schedule


class InterleavingError(AssertionError):
    """A schedule was found under which a program fails."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(str(failure))


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, under which schedule, and how that came.

    ``after`` is the number of schedules that were played until it was found, ``first``
    the deviations of the one that found it, before it was shrunk to ``schedule``.
    ``story`` has a line for each deviation.
    """

    what: str
    schedule: Schedule
    story: tuple[str, ...]
    after: int
    first: Schedule
    error: BaseException | None = None

    def __str__(self) -> str:
        how = self.story or ("asyncio's own order",)
        lines = (f"  {at}. {line}" for at, line in enumerate(how, 1))
        head = f"{self.what}\nfound by schedule {self.after}, and shrunk to:"
        return "\n".join(
            (head, *lines, f"play it again: replay(program, {self.schedule})")
        )


@dataclass(frozen=True, slots=True)
class Explored:
    """What exploring came to.

    ``schedules`` were played; ``choice_points`` is the most that one of them had. All
    schedules with up to ``complete`` deviations were among them; None if not even
    asyncio's own order came to its end. ``failure`` is None if nothing was found.
    """

    schedules: int
    choice_points: int
    complete: int | None
    failure: Failure | None = None

    def verify(self) -> None:
        """Raise InterleavingError if a failure was found."""
        if self.failure is not None:
            raise InterleavingError(self.failure) from self.failure.error
