"""Recording what a program and a vendor say to each other, by a server in between.

Any program can be pointed at it, in any language: it has one address to be told. Each
exchange is written when it has ended, scrubbed; the order is that in which requests
came, also of those that overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from compat.wire.errors import NothingRecordedError, ScrubbingError, UnsetSecretError
from compat.wire.scrubbing import Scrubber
from compat.wire.server.passing import FailedExchange, PassedExchange
from compat.wire.writing import AppendedCassette

_NOBODY: Final = Scrubber()
"""Takes what looks like a key out of lines that are shown."""


@dataclass(slots=True)
class ProxyRecorder:
    """Writes exchanges in the order of their requests, and counts those it cannot.

    ``say`` is told in a line what is not in the file, and why.
    """

    cassette: AppendedCassette
    say: Callable[[str], None]
    lost: int = 0
    _next: int = 1
    _waiting: dict[int, PassedExchange | FailedExchange] = field(
        default_factory=dict[int, "PassedExchange | FailedExchange"]
    )

    def hear(self, each: PassedExchange | FailedExchange) -> None:
        """Take an exchange that has ended; it waits for those before it."""
        self._waiting[each.number] = each
        while self._next in self._waiting:
            self._take(self._waiting.pop(self._next))
            self._next += 1

    def end(self) -> None:
        """Write what still waits for an exchange that never ended.

        Raises NothingRecordedError if no request came at all.
        """
        for number in sorted(self._waiting):
            for missing in range(self._next, number):
                self._take(FailedExchange(missing, "it has not ended"))
            self._take(self._waiting.pop(number))
            self._next = number + 1
        if not self.cassette.written and not self.lost:
            raise NothingRecordedError(self.cassette.path.name)

    def _take(self, each: PassedExchange | FailedExchange) -> None:
        if isinstance(each, FailedExchange):
            self._lose(each.number, each.problem)
            return
        try:
            self.cassette.add(each.exchange)
        except (ScrubbingError, OSError) as error:
            self._lose(each.number, str(error))

    def _lose(self, number: int, problem: str) -> None:
        self.lost += 1
        self.say(_NOBODY.text(f"request {number} is not in the file: {problem}"))


def secrets_named(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Return the values of variables; raises UnsetSecretError for one without any."""
    found: list[str] = []
    for name in names:
        value = environment.get(name, "")
        if not value:
            raise UnsetSecretError(name)
        found.append(value)
    return found
