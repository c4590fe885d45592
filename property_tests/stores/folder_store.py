"""A right store of another build: a file for each key in a folder, and no database.

It is what broken stores are made of, and shows that the clauses ask for no SQLite. A
record is its length, its digest and its bytes at the end of the key's file; what a kill
or a power cut left half-written there is cut off by the next append, under a lock that
the system takes back from a process that ends.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from refengine.state.store_errors import CheckpointConflictError
from refengine.state.stores import check_key, check_record, not_found

LENGTH: Final = 8
DIGEST: Final = 32


class FolderStore:
    """Keeps records in the folder at ``path``, which is made at the first use."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def append(self, key: str, seq: int, record: bytes) -> None:
        """Keep a record; see ``CheckpointStore``."""
        check_key(key)
        check_record(key, record)
        await asyncio.to_thread(self._append, key, seq, record)

    async def read(self, key: str) -> Sequence[bytes]:
        """Return the records of a key; see ``CheckpointStore``."""
        check_key(key)
        return await asyncio.to_thread(self._read, key)

    async def delete(self, key: str) -> None:
        """Delete the records of a key; see ``CheckpointStore``."""
        check_key(key)
        await asyncio.to_thread(self._delete, key)

    async def keys(self) -> Sequence[str]:
        """Return all keys, by their code points."""
        return await asyncio.to_thread(self._keys)

    def files(self) -> Sequence[Path]:
        """Return the files to which it appends."""
        return sorted(self.path.glob("*.row"))

    def _append(self, key: str, seq: int, record: bytes) -> None:
        with self._locked():
            file = self._file(key)
            row, end = self._row(file)
            if seq != len(row):
                raise CheckpointConflictError(key, seq, len(row))
            new = not file.exists()
            with file.open("ab") as out:
                out.truncate(end)
                self._write(out.fileno(), (b"" if end else _framed(key.encode())))
                self._write(out.fileno(), _framed(record))
                os.fsync(out.fileno())
            if new:
                self._keep_names()

    def _write(self, file: int, data: bytes) -> None:
        while data:
            data = data[os.write(file, data) :]

    def _read(self, key: str) -> list[bytes]:
        with self._locked():
            row, _ = self._row(self._file(key))
        if not row:
            raise not_found(key, self._keys())
        return row

    def _delete(self, key: str) -> None:
        with self._locked():
            file = self._file(key)
            if not self._row(file)[0]:
                raise not_found(key, ())
            file.unlink()
            self._keep_names()

    def _keys(self) -> list[str]:
        with self._locked():
            files = sorted(self.path.glob("*.row"))
            found = [self._frames(each.read_bytes()) for each in files]
        return sorted(name[0].decode() for name, _ in found if len(name) > 1)

    def _file(self, key: str) -> Path:
        return self.path / f"{sha256(key.encode()).hexdigest()}.row"

    def _row(self, file: Path) -> tuple[list[bytes], int]:
        """Return the records of a file, and where the last whole one ends."""
        frames, end = self._frames(file.read_bytes() if file.exists() else b"")
        return frames[1:], end

    def _frames(self, data: bytes) -> tuple[list[bytes], int]:
        found: list[bytes] = []
        at = 0
        while at + LENGTH + DIGEST <= len(data):
            begin = at + LENGTH + DIGEST
            end = begin + int.from_bytes(data[at : at + LENGTH], "big")
            body = data[begin:end]
            if sha256(body).digest() != data[at + LENGTH : begin] or end > len(data):
                break
            found.append(body)
            at = end
        return found, at

    def _keep_names(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Wait for the folder's lock; it goes with the process that has it."""
        self.path.mkdir(exist_ok=True)
        with (self.path / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(LENGTH, "big") + sha256(body).digest() + body
