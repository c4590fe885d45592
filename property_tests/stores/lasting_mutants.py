"""Broken stores that lose, tear or lock what is to outlive a process.

Each is ``FolderStore`` with one step of it done wrong; ``mutants.py`` says which clause
tells it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from property_tests.stores.folder_store import DIGEST, LENGTH, FolderStore
from refengine.state.store_errors import CheckpointConflictError


class WaitlessStore(FolderStore):
    """Has no lock between processes, and puts what it knows over what is there."""

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        self.path.mkdir(exist_ok=True)
        yield

    def _append(self, key: str, seq: int, record: bytes) -> None:
        have = len(self._row(self._file(key))[0])
        if seq != have:
            raise CheckpointConflictError(key, seq, have)
        time.sleep(0.002)  # where a right store has its lock
        super()._append(key, len(self._row(self._file(key))[0]), record)


class CachingStore(FolderStore):
    """Reads a row from its file once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._cache: dict[str, list[bytes]] = {}

    def _read(self, key: str) -> list[bytes]:
        if key not in self._cache:
            self._cache[key] = super()._read(key)
        return [*self._cache[key]]

    def _append(self, key: str, seq: int, record: bytes) -> None:
        super()._append(key, seq, record)
        if key in self._cache:
            self._cache[key].append(record)

    def _delete(self, key: str) -> None:
        super()._delete(key)
        self._cache.pop(key, None)


class ForgetfulStore(FolderStore):
    """Keeps in mind, and nowhere else, which keys were deleted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._gone: set[str] = set()

    def _row(self, file: Path) -> tuple[list[bytes], int]:
        row, end = super()._row(file)
        return ([], 0) if file.name in self._gone else (row, end)

    def _append(self, key: str, seq: int, record: bytes) -> None:
        super()._append(key, seq, record)
        self._gone.discard(self._file(key).name)

    def _delete(self, key: str) -> None:
        self._read(key)
        self._gone.add(self._file(key).name)

    def _keys(self) -> list[str]:
        return [e for e in super()._keys() if self._file(e).name not in self._gone]


class BehindStore(FolderStore):
    """Keeps the last record in mind until the next one comes, or until it is closed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._last: tuple[str, int, bytes] | None = None

    async def append(self, key: str, seq: int, record: bytes) -> None:
        self.close()
        self._last = (key, seq, record)
        if seq != len(self._row(self._file(key))[0]):
            self.close()

    async def read(self, key: str) -> Sequence[bytes]:
        self.close()
        return await super().read(key)

    async def delete(self, key: str) -> None:
        self.close()
        await super().delete(key)

    async def keys(self) -> Sequence[str]:
        self.close()
        return await super().keys()

    def close(self) -> None:
        """Write what is kept in mind."""
        last, self._last = self._last, None
        if last is not None:
            self._append(*last)


class TearingStore(FolderStore):
    """Writes a record in parts, and takes what is there of it for all of it."""

    def _write(self, file: int, data: bytes) -> None:
        for at in range(0, len(data), 8_000):
            os.write(file, data[at : at + 8_000])

    def _frames(self, data: bytes) -> tuple[list[bytes], int]:
        found: list[bytes] = []
        at = 0
        while at + LENGTH <= len(data):
            end = at + LENGTH + DIGEST + int.from_bytes(data[at : at + LENGTH], "big")
            found.append(data[at + LENGTH + DIGEST : end])
            at = end
        return found, min(at, len(data))


class CuttingStore(FolderStore):
    """Deletes the records of a row one after the other."""

    def _delete(self, key: str) -> None:
        row = self._read(key)
        file = self._file(key)
        for count in range(len(row) - 1, 0, -1):
            os.truncate(file, self._end(file, count))
        file.unlink()

    def _end(self, file: Path, count: int) -> int:
        data = file.read_bytes()
        end = 0
        for _ in range(count + 1):
            end += LENGTH + DIGEST + int.from_bytes(data[end : end + LENGTH], "big")
        return end


class LockFileStore(FolderStore):
    """Is locked as long as a file is there, which a killed process leaves behind."""

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        self.path.mkdir(exist_ok=True)
        lock = self.path / "taken"
        self._take(lock)
        try:
            yield
        finally:
            lock.unlink()

    def _take(self, lock: Path) -> None:
        for _ in range(50):
            try:
                lock.touch(exist_ok=False)
            except FileExistsError:
                time.sleep(0.001)
            else:
                return
        raise BlockingIOError(f"{lock.name} is there: somebody else is at work")


class BlindTailStore(TearingStore):
    """Keeps all of a file whose end was torn off, half a record too."""

    def _write(self, file: int, data: bytes) -> None:
        os.write(file, data)
