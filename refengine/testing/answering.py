"""What a run that resumes is given: answers by address, from what a scenario says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from refengine.testing.kept_runs import recorded_address

if TYPE_CHECKING:
    from refengine.interrupts import Address, Pending
    from refengine.messages import Json
    from refengine.testing.scenario import RunSpec, TargetSpec

OTHERS: Final = "*"
"""In ``answers`` all addresses that no other key names."""


class NoTargetError(LookupError):
    """A run that resumes is to answer an interrupt that does not wait."""

    def __init__(self, target: TargetSpec, pending: Sequence[Pending]) -> None:
        self.target = target
        waiting = ", ".join(str(each.address) for each in pending) or "nothing"
        wanted = target.model_dump(exclude_none=True, exclude={"data"})
        super().__init__(f"no interrupt fits {wanted}; waiting: {waiting}")


def answers_of(spec: RunSpec, pending: Sequence[Pending]) -> dict[str, Json] | None:
    """Return what ``resume`` is given: answers by full address, None for all.

    Raises NoTargetError.
    """
    if spec.targets:
        return _targeted(spec.targets, pending)
    return None if spec.answers == "all" else _addressed(spec.answers, pending)


def _targeted(
    targets: Sequence[TargetSpec], pending: Sequence[Pending]
) -> dict[str, Json]:
    """Return the answers to what is targeted; raises NoTargetError."""
    answers: dict[str, Json] = {}
    for target in targets:
        fit = [each.address for each in pending if _is_target(target, each.address)]
        if not fit:
            raise NoTargetError(target, pending)
        answers.update({str(each): target.data for each in fit})
    return answers


def _is_target(target: TargetSpec, address: Address) -> bool:
    if target.tool is not None:
        return address.tool == target.tool
    return [*map(list, target.address or ())] == recorded_address(address)


def _addressed(
    answers: Mapping[str, Json], pending: Sequence[Pending]
) -> dict[str, Json]:
    """Return the answers by full address; one that fits nothing stays as it is."""
    waiting = [str(each.address) for each in pending]
    found: dict[str, Json] = {}
    for key, answer in answers.items():
        fit = [each for each in waiting if each == key or each.endswith(f" {key}")]
        found.update(dict.fromkeys(fit or ([] if key == OTHERS else [key]), answer))
    if OTHERS in answers:
        found = {**dict.fromkeys(waiting, answers[OTHERS]), **found}
    return found


def as_recorded(pending: Pending) -> dict[str, Json]:
    """Return the entry that tells of an interrupt in the words of recorded rows."""
    return {
        "at": "interrupt",
        "address": cast("Json", recorded_address(pending.address)),
        "info": pending.payload,
        "root_cause": True,
    }
