"""Whether records that can be read make a run: their numbers, their start, their cuts.

A digest tells that a record is what was written, not that it stands where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refengine.checkpoint import Step


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
        faults = (*_place_faults(seq, step), *_splice_faults(have, step))
        if seq == 0:
            faults = (*faults, *_start_faults(step))
        yield from (RowFault(seq, why) for why in faults)
        have = min(step.splice.keep, have) + len(step.splice.messages)


def is_part(steps: Sequence[Step]) -> bool:
    """Tell whether a row begins in the middle of a run."""
    return steps[0].seq > 0 and steps[0].start is None


def _place_faults(seq: int, step: Step) -> Iterator[str]:
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
