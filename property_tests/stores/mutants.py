"""Broken stores: each violates a clause on purpose, and is told by it.

A clause that tells none of them from a right store asks for nothing. Those that break
what a process keeps are made of ``MemoryStore``; for the others see
``lasting_mutants.py``.
"""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from property_tests.stores.folder_store import FolderStore
from property_tests.stores.lasting_mutants import (
    BehindStore,
    BlindTailStore,
    CachingStore,
    CuttingStore,
    ForgetfulStore,
    LockFileStore,
    TearingStore,
    WaitlessStore,
)
from refengine.state.store_errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
)
from refengine.state.stores import MemoryStore

PAGE: Final = 1_000
WIDTH: Final = 65_535
INDEX: Final = 255


class LosingStore(MemoryStore):
    """Acknowledges the fourth record of a row, and does not keep it."""

    async def read(self, key: str) -> Sequence[bytes]:
        row = [*await super().read(key)]
        return row[:3] + row[4:]


class ReversedStore(MemoryStore):
    """Gives the newest record first."""

    async def read(self, key: str) -> Sequence[bytes]:
        return [*await super().read(key)][::-1]


class StrippingStore(MemoryStore):
    """Keeps records as lines."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        await super().append(key, seq, record.rstrip(b"\n"))


class ViewingStore(MemoryStore):
    """Gives what its driver has: views of memory, and no bytes."""

    async def read(self, key: str) -> Sequence[bytes]:
        return [memoryview(each) for each in await super().read(key)]  # type: ignore[misc]  # wrong on purpose


class OverwritingStore(MemoryStore):
    """Has the last writer win: a number that is taken is taken again."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        row = self._rows.get(key, [])
        if 0 <= seq < len(row):
            row[seq] = record
            return
        await super().append(key, seq, record)


class GapStore(MemoryStore):
    """Takes numbers that are too high, and puts the record at the end."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        have = len(self._rows.get(key, ()))
        await super().append(key, min(seq, have) if seq > have else seq, record)


class UncountedStore(MemoryStore):
    """Refuses a number without a look at how many are kept."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        try:
            await super().append(key, seq, record)
        except CheckpointConflictError as error:
            raise CheckpointConflictError(key, seq, 0) from error


class EmptyRowStore(MemoryStore):
    """Has an empty row for a key that nobody used."""

    async def read(self, key: str) -> Sequence[bytes]:
        try:
            return await super().read(key)
        except CheckpointNotFoundError:
            return []


class ForgivingStore(MemoryStore):
    """Deletes what is not there, and says nothing."""

    async def delete(self, key: str) -> None:
        if key in self._rows:
            await super().delete(key)


class TombstoneStore(MemoryStore):
    """Goes on counting under a key that was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self._gone: dict[str, int] = {}

    async def append(self, key: str, seq: int, record: bytes) -> None:
        gone = self._gone.get(key, 0)
        if gone and seq < gone:
            raise CheckpointConflictError(key, seq, gone)
        await super().append(key, seq - gone, record)

    async def delete(self, key: str) -> None:
        count = len(self._rows.get(key, ()))
        await super().delete(key)
        self._gone[key] = self._gone.get(key, 0) + count


class PrefixStore(MemoryStore):
    """Deletes all keys that begin with the one to delete."""

    async def delete(self, key: str) -> None:
        await super().delete(key)
        for each in [each for each in self._rows if each.startswith(key)]:
            await super().delete(each)


class ClearingStore(MemoryStore):
    """Deletes all keys."""

    async def delete(self, key: str) -> None:
        await super().delete(key)
        self._rows.clear()


class GhostStore(MemoryStore):
    """Still tells of keys that were deleted."""

    def __init__(self) -> None:
        super().__init__()
        self._ever: set[str] = set()

    async def append(self, key: str, seq: int, record: bytes) -> None:
        await super().append(key, seq, record)
        self._ever.add(key)

    async def keys(self) -> Sequence[str]:
        return sorted(self._ever)


class UnsortedStore(MemoryStore):
    """Gives the keys as they came."""

    async def keys(self) -> Sequence[str]:
        return list(self._rows)


class Utf16Store(MemoryStore):
    """Sorts keys as UTF-16 has them."""

    async def keys(self) -> Sequence[str]:
        return sorted(self._rows, key=lambda each: each.encode("utf-16-be"))


class MappedKeysStore(MemoryStore):
    """Takes some keys for each other: what ``_kept_as`` gives is what it knows."""

    def _kept_as(self, key: str) -> str:
        return key

    async def append(self, key: str, seq: int, record: bytes) -> None:
        await super().append(self._kept_as(key), seq, record)

    async def read(self, key: str) -> Sequence[bytes]:
        return await super().read(self._kept_as(key))

    async def delete(self, key: str) -> None:
        await super().delete(self._kept_as(key))


class FoldingStore(MappedKeysStore):
    """Has no case in its keys."""

    def _kept_as(self, key: str) -> str:
        return key.lower()


class NormalisingStore(MappedKeysStore):
    """Normalises its keys."""

    def _kept_as(self, key: str) -> str:
        return unicodedata.normalize("NFC", key)


class NarrowKeyStore(MappedKeysStore):
    """Has a column of 255 characters for its keys."""

    def _kept_as(self, key: str) -> str:
        return key[:INDEX]


class FileNameStore(MappedKeysStore):
    """Makes names of files of its keys."""

    def _kept_as(self, key: str) -> str:
        return key.replace("/", "_")


class CStringStore(MappedKeysStore):
    """Ends a key at its first NUL."""

    def _kept_as(self, key: str) -> str:
        return key.partition("\0")[0] or key


class AnyKeyStore(MappedKeysStore):
    """Takes any key, and makes a text of it that can be kept."""

    def _kept_as(self, key: str) -> str:
        return str(key).encode("utf-8", "replace").decode() or "default"


class AnyRecordStore(MemoryStore):
    """Makes bytes of what it is given."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        text = record.encode() if isinstance(record, str) else record
        await super().append(key, seq, bytes(text or b""))


class SharingStore(MemoryStore):
    """Gives the very list that it keeps."""

    async def read(self, key: str) -> Sequence[bytes]:
        await super().read(key)
        return self._rows[key]


class NarrowStore(MemoryStore):
    """Has a column of 64 KiB for its records, and cuts them without a word."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        await super().append(key, seq, record[:WIDTH])


class FirstPageStore(MemoryStore):
    """Gives the first thousand records of a row."""

    async def read(self, key: str) -> Sequence[bytes]:
        return [*await super().read(key)][:PAGE]


class FirstKeysStore(MemoryStore):
    """Gives the first thousand keys."""

    async def keys(self) -> Sequence[str]:
        return [*await super().keys()][:PAGE]


class YieldingStore(MemoryStore):
    """Lets other tasks in between its look at a row and its write."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        row = [*self._rows.get(key, ())]
        if seq != len(row):
            raise CheckpointConflictError(key, seq, len(row))
        await asyncio.sleep(0)
        self._rows[key] = [*row, record]


class UnlockedStore(MemoryStore):
    """Lets other threads in between its look at a row and its write."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        row = self._rows.get(key, [])
        if seq != len(row):
            raise CheckpointConflictError(key, seq, len(row))
        time.sleep(0.0005)  # noqa: ASYNC251  # where a right store has its lock
        self._rows[key] = [*row, record]


class OneLoopStore(MemoryStore):
    """Lives in the event loop that used it first."""

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def append(self, key: str, seq: int, record: bytes) -> None:
        self._loop = self._loop or asyncio.get_running_loop()
        if self._loop is not asyncio.get_running_loop():
            raise RuntimeError("it is bound to a different event loop")
        await super().append(key, seq, record)


class HalfCancelledStore(MemoryStore):
    """Writes a record in two parts, and may be cancelled after the first."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        await super().append(key, seq, record[:1])
        await asyncio.sleep(0)
        self._rows[key][seq] = record


class HeldLockStore(MemoryStore):
    """Keeps its lock where it is cancelled between taking and giving it back."""

    def __init__(self) -> None:
        super().__init__()
        self._held = False

    async def append(self, key: str, seq: int, record: bytes) -> None:
        while self._held:  # noqa: ASYNC110  # as one that asks a service does
            await asyncio.sleep(0.001)
        self._held = True
        await asyncio.sleep(0)
        try:
            await super().append(key, seq, record)
        except CheckpointConflictError:
            self._held = False
            raise
        self._held = False


@dataclass(frozen=True, slots=True)
class BrokenStore:
    """A store that violates a clause."""

    clause: str
    wrong: type[MemoryStore | FolderStore]

    @property
    def id(self) -> str:
        """What it is called."""
        return self.wrong.__name__

    @property
    def text(self) -> str:
        """What names it on a command line."""
        return f"{self.wrong.__module__}:{self.wrong.__name__}"

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return (self.wrong.__doc__ or "").strip()


def broken_stores() -> tuple[BrokenStore, ...]:
    """Return all broken stores, each with the clause that tells it."""
    by_clause: dict[int, tuple[type[MemoryStore | FolderStore], ...]] = {
        1: (LosingStore, ReversedStore),
        2: (StrippingStore, ViewingStore),
        3: (OverwritingStore, GapStore),
        4: (UncountedStore,),
        5: (EmptyRowStore, ForgivingStore),
        6: (TombstoneStore,),
        7: (PrefixStore, ClearingStore),
        8: (GhostStore,),
        9: (UnsortedStore, Utf16Store),
        10: (
            FoldingStore,
            NormalisingStore,
            NarrowKeyStore,
            FileNameStore,
            CStringStore,
        ),
        11: (AnyKeyStore,),
        12: (AnyRecordStore,),
        13: (SharingStore,),
        14: (NarrowStore,),
        15: (FirstPageStore, FirstKeysStore),
        16: (YieldingStore,),
        17: (UnlockedStore,),
        18: (WaitlessStore,),
        19: (CachingStore,),
        20: (OneLoopStore,),
        21: (HalfCancelledStore, HeldLockStore),
        22: (ForgetfulStore,),
        23: (BehindStore,),
        24: (TearingStore,),
        25: (CuttingStore,),
        26: (LockFileStore,),
        27: (LockFileStore,),
        28: (BlindTailStore,),
    }
    return tuple(
        BrokenStore(f"STO-{number:03}", wrong)
        for number, wrongs in by_clause.items()
        for wrong in wrongs
    )
