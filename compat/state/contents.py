"""What stands in a file of checkpoints, read without trusting any of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from refengine.resume.checkpoint import Saved, Step, folded
from refengine.state.checkpoints import is_part, row_faults
from refengine.state.codec import decode_step
from refengine.state.envelope import read_records
from refengine.state.errors import ForeignFileError, StateError
from refengine.state.sqlite import SqliteStore
from refengine.state.store_errors import ForeignStoreError, StoreDamagedError
from refengine.state.stores import not_found
from refengine.state.values import Types

_SQLITE: Final = b"SQLite format 3\0"
_TODO: Final = "take a copy from before, or delete the run under that key"


@dataclass(frozen=True, slots=True)
class FileFault:
    """What is wrong in a file: under which key and in which record, if that is known.

    ``kind`` is the name of the error, ``what`` its text: what it is and what to do.
    """

    key: str | None
    seq: int | None
    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """A run as it is kept: None for ``saved`` if its records make none.

    A file may hold a ``part`` of a run, the beginning of which stands elsewhere.
    """

    key: str
    records: int
    saved: Saved | None
    faults: tuple[FileFault, ...]
    part: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """What stands in a file; ``faults`` are those of the file itself."""

    file: Path
    runs: tuple[KeptRecords, ...]
    faults: tuple[FileFault, ...]
    is_store: bool = True

    @property
    def all_faults(self) -> tuple[FileFault, ...]:
        """Those of the file, then those of each run."""
        return (*self.faults, *(fault for run in self.runs for fault in run.faults))


def contents(file: Path, key: str | None = None) -> Contents:
    """Read a file: all runs, or the one under that key.

    What is broken is a fault of what is returned. Raises OSError and StoreError for a
    file that is none of ours, CheckpointNotFoundError for a key that is not there.
    """
    if file.exists() and not file.is_file():
        raise ForeignStoreError(file, "not a plain file")
    with file.open("rb") as opened:
        begins = opened.read(len(_SQLITE))
    if begins == _SQLITE:
        return asyncio.run(_store(file, key))
    return _records(file, key)


async def _store(file: Path, key: str | None) -> Contents:
    async with SqliteStore(file, read_only=True) as store:
        broken = await store.damage()
        faults = [_fault(None, None, StoreDamagedError(file, each)) for each in broken]
        try:
            keys = list(await store.keys())
        except StoreDamagedError as error:
            return Contents(file, (), (_fault(None, None, error),))
        if keys and key is not None and key not in keys:
            raise not_found(key, keys)
        chosen = [each for each in keys if key in {None, each}]
        runs = [await _row(store, each) for each in chosen]
    return Contents(file, tuple(runs), tuple(faults))


async def _row(store: SqliteStore, key: str) -> KeptRecords:
    try:
        return kept(key, await store.read(key))
    except StoreDamagedError as error:
        return KeptRecords(key, 0, None, (_fault(key, None, error),))


def _records(file: Path, key: str | None) -> Contents:
    """Read a file of records one after another: they are one run, named as the file."""
    data = file.read_bytes()
    name = file.stem
    if not data:
        return Contents(file, (), (), is_store=False)
    records: list[bytes] = []
    broken: tuple[FileFault, ...] = ()
    try:
        for record in read_records(data):
            records.append(record)  # noqa: PERF402  # those before an error stay
    except StateError as error:
        if isinstance(error, ForeignFileError) and not records:
            raise ForeignStoreError(file, "neither SQLite nor records") from error
        broken = (_fault(name, len(records), error),)
    if key is not None and key != name:
        raise not_found(key, [name])
    found = kept(name, records, may_be_part=True)
    if broken:
        found = KeptRecords(name, len(records), None, (*found.faults, *broken))
    return Contents(file, (found,), (), is_store=False)


def kept(
    key: str, records: Sequence[bytes], *, may_be_part: bool = False
) -> KeptRecords:
    """Return the run that records make, or all that is wrong with them."""
    steps, faults = _steps(key, records)
    if not faults:
        faults = [
            FileFault(key, each.seq, "BadRowError", f"{each.why}: {_TODO}")
            for each in row_faults(steps, part=may_be_part)
        ]
    if faults or not steps:
        return KeptRecords(key, len(records), None, tuple(faults))
    if may_be_part and is_part(steps):
        return KeptRecords(key, len(records), None, (), tuple(steps))
    return KeptRecords(key, len(records), folded(steps), ())


def _steps(key: str, records: Sequence[bytes]) -> tuple[list[Step], list[FileFault]]:
    types = Types(keep_unknown=True)
    steps: list[Step] = []
    faults: list[FileFault] = []
    for seq, record in enumerate(records):
        try:
            steps.append(decode_step(record, types))
        except StateError as error:
            faults.append(_fault(key, seq, error))
    return steps, faults


def _fault(key: str | None, seq: int | None, error: Exception) -> FileFault:
    what = str(error)
    if isinstance(error, StoreDamagedError):  # its text sends the user here
        what = f"the store is damaged ({error.detail}): take a copy from before"
    return FileFault(key, seq, type(error).__name__, what)
