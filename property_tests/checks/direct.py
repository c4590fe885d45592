"""RD: which calls end a run with their result (contract §2 RD)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.calling import ended, history_after, result_of, went_on
from property_tests.checks.configuring import first_runs, followed, paired, turns
from property_tests.checks.executing import CalledBatch, batches
from property_tests.checks.phases import HandlerTurn, is_doubled, tools_in
from property_tests.view import HookView, View
from refengine.messages import ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.scenario import Scenario


def first_flags(case: PlayedWorld) -> Iterator[Decision]:
    """Tell which flags the first handler sees."""
    first = {run.number for run in first_runs(case.played)}
    for run, setup, hooks in turns(case.played):
        if run is None or run.number in first:
            for step, hook in list(paired(setup, hooks))[:1]:
                yield sees(
                    "the first handler sees the flags of the profile", step, hook
                )


def next_flags(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a handler sees the flags that the one before left."""
    claim = "a handler sees the flags that the one before left"
    for before, after in followed(case.played):
        if not is_doubled(tools_in(before.left)):
            left, seen = flags_in(before.left), flags_in(after.seen)
            yield Decision(claim, left, seen, after.enter)


def folded_flags(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether of equal names the last set flag stays."""
    if case.profile.equal_tool_names != "one_entry":
        return
    for _, setup, hooks in turns(case.played):
        both = list(paired(setup, hooks))
        for (before, _), (step, hook) in pairwise(both):
            if before.doubled:
                claim = "of equal names the last flag that was set stays"
                yield sees(claim, step, hook)


def flags_in(config: object) -> object:
    """Return the flags in a configuration as a trace puts it down."""
    return config.get("return_directly") if is_mapping(config) else None


def sees(claim: str, step: HandlerTurn, hook: HookView) -> Decision:
    """Decide which flags a handler sees."""
    return Decision(claim, flags_in(step.seen), flags_in(hook.seen), hook.enter)


Meant: TypeAlias = Callable[[CalledBatch], bool]


def flagging(batch: CalledBatch) -> list[ToolCall]:
    """Return the calls of a batch that a flag may count for.

    Where flags stand on tools, a call whose tool is not there has none.
    """
    if batch.profile.return_directly == "three_valued":
        return [each for each in batch.calls if batch.knows(each)]
    return list(batch.calls)


def counted(batch: CalledBatch) -> list[ToolCall]:
    """Return the calls of a batch whose tools return directly, in message order."""
    return [each for each in flagging(batch) if each.name in batch.setup.direct]


def ending(batch: CalledBatch) -> ToolCall | None:
    """Return the call that ends the run: the last direct one, if it may."""
    direct = counted(batch)
    if batch.profile.direct_calls == "all" and len(direct) < len(flagging(batch)):
        return None
    return direct[-1] if direct else None


def configured_true(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a call ends the run whose tool the configuration flags."""
    yield from _one_name(
        case,
        "a configured flag ends the run with the result",
        lambda batch, name: (
            _untouched(batch, name) and _configured(batch, name) is True
        ),
    )


def unflagged(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the run goes on after calls that nobody flagged."""
    yield from _one_name(
        case,
        "without a flag the run goes on with the result",
        lambda batch, name: (
            _untouched(batch, name) and _configured(batch, name) is None
        ),
    )


def configured_false(case: PlayedWorld) -> Iterator[Decision]:
    """Tell what a configured false does."""
    yield from _one_name(
        case,
        "a configured false is not a flag, or counts as the profile has it",
        lambda batch, name: (
            _untouched(batch, name) and _configured(batch, name) is False
        ),
    )


def set_true(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a handler's true ends the run."""
    yield from _one_name(
        case,
        "true of a handler ends the run, if the profile lets handlers set flags",
        lambda batch, name: _writes(batch, name) in {(True,), (True, True)},
    )


def set_false(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a handler's false overrules the configuration."""
    yield from _one_name(
        case,
        "false of a handler overrules the configuration, if the profile lets it",
        lambda batch, name: _writes(batch, name) in {(False,), (False, False)},
    )


def last_write(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether of several writes the last one counts."""
    yield from _one_name(
        case,
        "of several flags for a name the last one counts",
        lambda batch, name: (
            len(set(_writes(batch, name))) > 1 and _writes(batch, name)[-1] is not None
        ),
    )


def unset_keeps(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether an unset flag leaves what the configuration says."""
    yield from _one_name(
        case,
        "an unset flag leaves what the configuration says, also after remove and add",
        lambda batch, name: (
            (not _writes(batch, name) and name in batch.setup.readded)
            or _writes(batch, name)[-1:] == (None,)
        ),
    )


def several(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether of several direct calls the last in message order is the answer."""
    for batch in _finished(case.played):
        direct, expected = counted(batch), ending(batch)
        if len(direct) > 1 and expected is not None and _ended(batch):
            answer = batch.run.answer
            yield Decision(
                "of several direct calls the last in message order is the answer",
                _answering(batch, expected),
                answer and answer.tool_call_id,
                batch.run.end,
            )


def one_among_others(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether one direct call among others, of tools there are, ends the run.

    What a call of a tool that is not there counts for is RD-012's.
    """
    for batch in _finished(case.played):
        direct = counted(batch)
        found = all(map(batch.knows, batch.calls))
        if found and 0 < len(direct) < len(batch.calls):
            claim = (
                "one direct call among others ends the run, or as the profile has it"
            )
            yield _ends(claim, batch)


def answer(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the answer is the result of the call that ended the run."""
    for batch in _finished(case.played):
        expected = ending(batch)
        if expected is not None and _ended(batch) and len(counted(batch)) == 1:
            call_id = _answering(batch, expected)
            yield Decision(
                "the answer is the kept result of the direct call",
                result_of(batch.run.final, call_id),
                batch.run.answer,
                batch.run.end,
            )


def all_kept(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the results of all calls are kept though the run ends."""
    for batch in _finished(case.played):
        seen = history_after(batch.run, batch.now)
        if ending(batch) is not None and _ended(batch) and seen is not None:
            expected = [call.id for call in batch.calls]
            last = seen[0][-len(expected) :]
            got = [each.tool_call_id for each in last]
            claim = "the results of all calls are kept, in call order"
            yield Decision(claim, expected, got, seen[1])


def unknown_has_none(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a flag of a name counts for a call whose tool is not there."""
    for batch in _finished(case.played):
        flagged = batch.agent.return_directly
        missing = [c for c in batch.calls if not batch.knows(c) and flagged.get(c.name)]
        if missing and not any(batch.knows(c) for c in counted(batch)):
            claim = "a flag counts for a tool that is not there, or not, by the profile"
            yield _ends(claim, batch)


def held_event(case: PlayedWorld) -> Iterator[Decision]:
    """Tell where the event of the call that ends the run stands among the others."""
    for batch in _finished(case.played):
        expected = ending(batch)
        if expected is None or len(batch.calls) < 2 or not _ended(batch):
            continue
        held = batch.profile.direct_event == "last"
        in_order = batch.profile.tool_events == "call_order"
        if not held and not in_order:
            continue
        order = [call.id for call in batch.calls if batch.seen(call).events]
        if held and expected.id in order:
            order.remove(expected.id)
            order.append(expected.id)
        reported = batch.now.tool_events
        got = [each.call_id for each in reported]
        if len(order) > 1 and expected.id in got:
            if not in_order:  # the others come as they finish
                order, got = order[-1:], got[-1:]
            claim = "the event of the call that ends the run, in call order or last"
            yield Decision(claim, order, got, reported[-1])


def later_flags(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a later run starts with the flags of the first."""
    first = {run.number for run in first_runs(case.played)}
    claim = "a later run starts with no more flags than the first one did"
    for run, setup, hooks in turns(case.played):
        if run is not None and run.number not in first:
            for step, hook in list(paired(setup, hooks))[:1]:
                yield sees(claim, step, hook)
    for batch in _finished(case.played):
        found = all(map(batch.knows, batch.calls))
        if found and batch.run.number not in first and len(counted(batch)) < 2:
            yield _ends(claim, batch)


def _one_name(
    case: PlayedWorld, claim: str, meant: Callable[[CalledBatch, str], bool]
) -> Iterator[Decision]:
    """Decide about first runs and messages all of whose calls are of one known tool."""
    first = {run.number for run in first_runs(case.played)}
    for batch in _finished(case.played):
        names = {call.name for call in batch.calls}
        if len(names) > 1 or batch.run.number not in first:
            continue
        if all(map(batch.knows, batch.calls)) and meant(batch, min(names)):
            yield _ends(claim, batch)


def _ends(claim: str, batch: CalledBatch) -> Decision:
    expected = "goes on" if ending(batch) is None else "returned_directly"
    last = batch.now is batch.run.iterations[-1]
    at = batch.run.end if last else batch.run.iterations[batch.now.number].entries[0]
    return Decision(claim, expected, ended(batch.run, batch.now), at)


def _finished(view: View) -> Iterator[CalledBatch]:
    """Yield the batches that no error ended."""
    for batch in batches(view):
        if went_on(batch.run, batch.now):
            yield batch


def _ended(batch: CalledBatch) -> bool:
    return ended(batch.run, batch.now) == "returned_directly"


def _answering(batch: CalledBatch, direct: ToolCall) -> str:
    """Return the call whose result is the answer: the direct one, or the last kept."""
    at_end = batch.profile.answer == "end_of_history"
    return batch.calls[-1].id if at_end else direct.id


def _configured(batch: CalledBatch, name: str) -> bool | None:
    return batch.agent.return_directly.get(name)


def _writes(batch: CalledBatch, name: str) -> tuple[bool | None, ...]:
    return tuple(batch.setup.writes.get(name, ()))


def _untouched(batch: CalledBatch, name: str) -> bool:
    return not _writes(batch, name) and name not in batch.setup.readded


def with_handlers(scenario: Scenario) -> bool:
    """Tell whether an agent of a scenario has handlers."""
    return any(each.handlers for each in scenario.all_agents)


DIRECT: Final = frozenset(("return_directly",))
SEVERAL: Final = DIRECT | {"parallel_calls"}
EDITED: Final = DIRECT | {"before_agent", "edited_config"}
AFTER: Final = EDITED | {"several_handlers"}
ANSWERED: Final = DIRECT | {"unknown_tools_handler"}

CHECKS: Final[tuple[Check, ...]] = (
    Check(clause="RD-001", decide=configured_true, needs=DIRECT),
    Check(clause="RD-002", decide=unflagged),
    Check(clause="RD-003", decide=configured_false, needs=DIRECT),
    Check(clause="RD-004", decide=set_true, needs=EDITED, meant=with_handlers),
    Check(clause="RD-005", decide=set_false, needs=EDITED, meant=with_handlers),
    Check(clause="RD-006", decide=last_write, needs=EDITED, meant=with_handlers),
    Check(clause="RD-007", decide=unset_keeps, needs=EDITED, meant=with_handlers),
    Check(clause="RD-008", decide=several, needs=SEVERAL),
    Check(clause="RD-009", decide=one_among_others, needs=SEVERAL),
    Check(clause="RD-010", decide=answer, needs=DIRECT),
    Check(clause="RD-011", decide=all_kept, needs=SEVERAL),
    Check(clause="RD-012", decide=unknown_has_none, needs=ANSWERED),
    Check(clause="RD-013", decide=held_event, needs=SEVERAL),
    Check(clause="RD-014", decide=first_flags, needs=EDITED, meant=with_handlers),
    Check(clause="RD-015", decide=next_flags, needs=AFTER, meant=with_handlers),
    Check(clause="RD-016", decide=folded_flags, needs=EDITED, meant=with_handlers),
    Check(clause="RD-017", decide=later_flags),
)
