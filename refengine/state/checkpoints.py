"""What an agent keeps its runs in: steps become records, and records a run again.

Records that can be read need not make a run: a digest tells that a record is what was
written, not that it stands where it belongs. So their numbers, their start and their
cuts are looked at too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from refengine.errors import RefengineError
from refengine.resume.checkpoint import Saved, Step, folded
from refengine.state.codec import decode_step, encode_step
from refengine.state.store_errors import BadRowError, NoStoreError, NoTypesError
from refengine.state.stores import CheckpointStore
from refengine.state.values import Types


@dataclass(frozen=True, slots=True)
class RowFault:
    """What is wrong with the record at a place of a row."""

    seq: int
    why: str


def row_faults(steps: Sequence[Step], *, part: bool = False) -> Iterator[RowFault]:
    """Yield what is wrong with a row of steps; nothing if they fold into a run.

    A ``part`` may begin in the middle of a run; then its first step is believed.
    """
    begins = part and bool(steps) and is_part(steps)
    first = steps[0].seq if begins else 0
    have = steps[0].splice.keep if begins else 0
    for seq, step in enumerate(steps, first):
        faults = (*_number_faults(seq, step), *_splice_faults(have, step))
        if seq == 0:
            faults = (*faults, *_start_faults(step))
        yield from (RowFault(seq, why) for why in faults)
        have = min(step.splice.keep, have) + len(step.splice.messages)


def is_part(steps: Sequence[Step]) -> bool:
    """Tell whether a row begins in the middle of a run."""
    return steps[0].seq > 0 and steps[0].start is None


def _number_faults(seq: int, step: Step) -> Iterator[str]:
    if step.seq != seq:
        yield f"it says it is number {step.seq}"
    if seq > 0 and step.start is not None:
        yield "it begins another run, in the middle of this one"


def _start_faults(step: Step) -> Iterator[str]:
    if step.start is None:
        yield "it does not say whose run this is, as a first one does"
        return
    given = step.start.given + step.start.has_first
    there = len(step.splice.messages)
    if step.start.given < 0 or given > there:
        yield f"it says that {given} messages were given, and has {there}"


def _splice_faults(have: int, step: Step) -> Iterator[str]:
    keep = step.splice.keep
    if not 0 <= keep <= have:
        yield f"it keeps {keep} messages of {have}"
    have = min(max(keep, 0), have) + len(step.splice.messages)
    if step.point.sent is not None and not 0 <= step.point.sent.keep <= have:
        yield f"the model is sent {step.point.sent.keep} messages of {have}"


_METHODS: Final = ("append", "read", "delete", "keys")


class Checkpoints:
    """Keeps the steps of runs in a store; it is the ``Keeper`` an agent is given.

    ``types`` are the classes of values that may be kept besides plain ones. Agents may
    share one. Closing the store is left to whoever made it. Raises NoStoreError and
    NoTypesError for what is none, such as the path of a file.
    """

    def __init__(self, store: CheckpointStore, types: Types | None = None) -> None:
        if isinstance(store, type) or not all(hasattr(store, n) for n in _METHODS):
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
