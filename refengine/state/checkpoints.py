"""What an agent keeps its runs in: steps become records, and records a run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine.checkpoint import Saved, Step, folded
from refengine.errors import RefengineError
from refengine.state.codec import decode_step, encode_step
from refengine.state.rows import row_faults
from refengine.state.store_errors import BadRowError, NoStoreError, NoTypesError
from refengine.state.stores import CheckpointStore
from refengine.state.values import Types

_ASKED: Final = ("append", "read", "delete", "keys")


class Checkpoints:
    """Keeps the steps of runs in a store; it is the ``Keeper`` an agent is given.

    ``types`` are the classes of values that may be kept besides plain ones. Agents may
    share one. Closing the store is left to whoever made it. Raises NoStoreError and
    NoTypesError for what is none, such as the path of a file.
    """

    def __init__(self, store: CheckpointStore, types: Types | None = None) -> None:
        if isinstance(store, type) or not all(hasattr(store, n) for n in _ASKED):
            raise NoStoreError(store)
        if not isinstance(types, Types | None):
            raise NoTypesError(types)
        self._store = store
        self._types = Types() if types is None else types

    @property
    def store(self) -> CheckpointStore:
        """Where the records are."""
        return self._store

    @property
    def types(self) -> Types:
        """The registry by which values are checked, packed and unpacked."""
        return self._types

    async def write(self, key: str, step: Step) -> None:
        """Keep a step; see ``Keeper``. Raises what the codec and the store do."""
        record = encode_step(step, self._types)
        await self._store.append(key, step.seq, record)

    async def read(self, key: str) -> Saved:
        """Return the run under that key.

        Raises CheckpointNotFoundError, BadRowError if the records make no run, and what
        the codec and the store do; then nothing of the run is returned.
        """
        steps = decoded(key, await self._store.read(key), self._types)
        for fault in row_faults(steps):
            raise BadRowError(key, fault.seq, fault.why)
        return folded(steps)

    async def delete(self, key: str) -> None:
        """Delete the run under that key; raises CheckpointNotFoundError."""
        await self._store.delete(key)

    async def keys(self) -> Sequence[str]:
        """Return the keys of all runs that are kept, sorted."""
        return await self._store.keys()


def decoded(key: str, records: Sequence[bytes], types: Types) -> list[Step]:
    """Return the steps of records; an error says in a note which one it is about."""
    steps: list[Step] = []
    for at, record in enumerate(records):
        try:
            steps.append(decode_step(record, types))
        except RefengineError as error:
            error.add_note(f"in record {at} of checkpoint {key!r}")
            raise
    return steps
