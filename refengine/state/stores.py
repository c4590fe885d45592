"""Where records are kept: the protocol of a store, and one in memory.

A store knows keys and bytes, and looks into neither. Under a key stand records with the
numbers 0, 1, 2 …; a record is put at the end, or the whole row is deleted.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice
from threading import Lock
from typing import Final, Protocol

from refengine.state.store_errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    StoreKeyError,
    StoreRecordError,
)

_COMPARED: Final = 1_000
"""So many keys are compared with one that is not there: a hint may not take seconds."""


class CheckpointStore(Protocol):
    """Keeps rows of records by key; safe for tasks, threads and processes at once.

    An ``append`` or ``delete`` that is cancelled may have been done all the same.
    """

    async def append(self, key: str, seq: int, record: bytes) -> None:
        """Keep a record as number ``seq`` of that key; it is safe when this returns.

        Raises CheckpointConflictError unless ``seq`` is how many are kept there, so of
        several that write one number exactly one succeeds; StoreKeyError.
        """
        ...

    async def read(self, key: str) -> Sequence[bytes]:
        """Return all records of that key, in order.

        Raises CheckpointNotFoundError if there is none; StoreKeyError.
        """
        ...

    async def delete(self, key: str) -> None:
        """Delete all records of that key; raises what ``read`` does."""
        ...

    async def keys(self) -> Sequence[str]:
        """Return all keys, by their code points."""
        ...


class MemoryStore:
    """Keeps records as long as the process lives; for tests, and for a first try."""

    def __init__(self) -> None:
        self._rows: dict[str, list[bytes]] = {}
        self._lock = Lock()  # for loops of several threads: none waits while it has it

    async def append(self, key: str, seq: int, record: bytes) -> None:
        """Keep a record; see ``CheckpointStore``."""
        check_key(key)
        check_record(key, record)
        with self._lock:
            row = self._rows.get(key, [])
            if seq != len(row):
                raise CheckpointConflictError(key, seq, len(row))
            row.append(record)
            self._rows[key] = row

    async def read(self, key: str) -> Sequence[bytes]:
        """Return the records of a key; see ``CheckpointStore``."""
        check_key(key)
        with self._lock:
            if key not in self._rows:
                raise not_found(key, self._rows)
            return list(self._rows[key])

    async def delete(self, key: str) -> None:
        """Delete the records of a key; see ``CheckpointStore``."""
        check_key(key)
        with self._lock:
            if key not in self._rows:
                raise not_found(key, self._rows)
            del self._rows[key]

    async def keys(self) -> Sequence[str]:
        """Return all keys, sorted."""
        with self._lock:
            return sorted(self._rows)


def check_key(key: object) -> None:
    """Raise StoreKeyError for a key that not every store can keep.

    Two that look alike but have other code points are two keys: nothing is normalised.
    """
    if not isinstance(key, str):
        raise StoreKeyError(key, f"is {type(key).__name__}, not str")
    if not key:
        raise StoreKeyError(key, "is empty")
    try:
        key.encode("utf-8")
    except UnicodeEncodeError as error:
        why = f"has a lone surrogate at {error.start}, which no UTF-8 can hold"
        raise StoreKeyError(key, why) from None


def check_record(key: str, record: object) -> None:
    """Raise StoreRecordError for anything but bytes: a buffer could still change."""
    if not isinstance(record, bytes):
        raise StoreRecordError(key, record)


def not_found(key: str, keys: Iterable[str]) -> CheckpointNotFoundError:
    """Return the error for a key that is not there, with those almost like it."""
    known = list(islice(keys, _COMPARED))
    return CheckpointNotFoundError(key, difflib.get_close_matches(key, known))
