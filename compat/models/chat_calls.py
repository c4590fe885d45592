"""Which call a piece of a stream belongs to, also where servers say it differently."""

from __future__ import annotations


class Places:
    """Gives each call of a streamed answer an index that only it has.

    By the API the index tells calls apart. Some servers leave it out, and some give
    all calls the same: then an id of its own that comes with a name begins another
    call, and a piece without an id goes on with the last one.
    """

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}
        self._latest: dict[int | None, int] = {}
        self.renumbered = False

    def of(self, given: int | None, id_: str, name: str) -> int:
        """Return the index of the call that a piece with these belongs to."""
        at = self._latest.get(given)
        if at is not None and not self._another(at, given, id_, name):
            self._ids[at] = self._ids[at] or id_
            return at
        known = [index for index, each in self._ids.items() if id_ and each == id_]
        free = given is not None and given not in self._ids
        if known and not free:
            found = known[0]
        else:
            found = given if given is not None and free else self._next()
            self._ids[found] = id_
            self.renumbered |= found != given
        self._latest[given] = found
        return found

    def _another(self, at: int, given: int | None, id_: str, name: str) -> bool:
        """Tell whether a piece is of another call than the last of its index."""
        if not id_:
            return given is None and bool(name)
        return self._ids[at] not in {"", id_} and (bool(name) or given is None)

    def _next(self) -> int:
        return 1 + max(self._ids, default=-1)
