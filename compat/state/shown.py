"""A kept run in words for a person, and in JSON for a program: both say the same.

Texts are a model's or a user's: what cannot be printed is written as Python writes it,
so that no text moves the cursor of a terminal or hides another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias

from compat.report.conform_text import counted
from compat.state.contents import Contents, FileFault, KeptRecords
from refengine.interrupts import Pending
from refengine.messages import Json, Message
from refengine.resume.checkpoint import GONE, Entry, Saved, Step, entries_in, pending_in
from refengine.state.values import Types
from refengine.testing.notation import show_message

Form: TypeAlias = dict[str, object]


def printable(text: str) -> str:
    """Return the text in one line, what cannot be printed as an escape."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def state_of(saved: Saved) -> str:
    """Return how far a run is: interrupted, ended and how, or under way."""
    if saved.pending:
        return "interrupted"
    if saved.point.phase == "end":
        return saved.point.status or "ended"
    return "under way"


def list_lines(found: Contents) -> Iterator[str]:
    """Yield a line for each run, and one for each interrupt that waits in it."""
    width = max((len(repr(each.key)) for each in found.runs), default=0)
    for each in found.runs:
        yield f"{each.key!r:<{width}}  {_summary(each)}"
        if each.saved is not None:
            for waiting in each.saved.pending:
                yield f"  waits at {_pending(waiting)}"
    yield f"{printable(str(found.file))}: {counted(len(found.runs), 'run')}"


def _summary(kept: KeptRecords) -> str:
    saved = kept.saved
    if kept.part:
        first, last = kept.part[0].seq, kept.part[-1].seq
        return f"a part of a run, steps {first} to {last}"
    if saved is None:
        return "cannot be read"
    return (
        f"{_state(saved)}, phase {saved.point.phase}, iteration {saved.iteration},"
        f" {counted(len(saved.messages), 'message')}, {counted(saved.steps, 'step')}"
    )


def run_lines(key: str, saved: Saved, *, is_store: bool = True) -> Iterator[str]:
    """Yield a run: its messages and values, where it stands, how it goes on."""
    start, point = saved.start, saved.point
    how = "streamed" if start.streaming else "invoked"
    profile = printable(start.profile)
    yield f"run {key!r} of agent {start.agent!r}, profile {profile}, {how}"
    yield f"messages: {len(saved.messages)} (the caller gave {start.given})"
    yield from (f"  {at}  {_message(m)}" for at, m in enumerate(saved.messages))
    yield f"run-local values: {len(saved.locals)}"
    yield from _values(saved.locals)
    yield f"context values: {len(point.ctx)}"
    yield from _values(point.ctx)
    yield (
        f"stands: {_state(saved)}, phase {point.phase}, iteration {saved.iteration},"
        f" attempt {point.attempt}, after {counted(saved.steps, 'step')}"
    )
    yield from (f"  {_entry(at, each)}" for at, each in enumerate(point.entries))
    if saved.pending:
        yield f"waits for: {counted(len(saved.pending), 'answer')}"
        yield from (f"  {_pending(each)}" for each in saved.pending)
    line = resume_line(key, saved)
    if line is None:
        yield "go on: it has ended, nothing is left to do"
    elif is_store:
        yield f"go on: {line}"
    else:
        yield f"go on: put these records into a store under this key, then {line}"


def part_lines(key: str, steps: Sequence[Step]) -> Iterator[str]:
    """Yield what each step of a part of a run changes."""
    yield f"part {key!r} of a run, the beginning of which is not in this file"
    for step in steps:
        splice, point = step.splice, step.point
        yield (
            f"step {step.seq}: phase {point.phase}, iteration {step.iteration},"
            f" keeps {counted(splice.keep, 'message')} and adds {len(splice.messages)}"
        )
        yield from (
            f"  {at}  {_message(m)}"
            for at, m in enumerate(splice.messages, splice.keep)
        )
        for name, value in step.locals.items():
            yield f"  {name!r}: {'deleted' if value is GONE else repr(value)}"
        yield from (f"  {_entry(at, each)}" for at, each in enumerate(point.entries))
        yield from (f"  waits at {_pending(each)}" for each in step.pending)


def resume_line(key: str, saved: Saved) -> str | None:
    """Return the Python that resumes a run; None if it has ended.

    ``answer`` stands for what each interrupt is told, numbered if there are several.
    """
    if saved.point.phase == "end":
        return None
    if not saved.pending:
        return f"agent.resume({key!r})"
    many = len(saved.pending) > 1
    answers = (
        f"{str(each.address)!r}: answer{at if many else ''}"
        for at, each in enumerate(saved.pending, 1)
    )
    return f"agent.resume({key!r}, {{{', '.join(answers)}}})"


def fault_line(fault: FileFault) -> str:
    """Return what is wrong, and where, in a line."""
    key = "the file" if fault.key is None else repr(fault.key)
    record = "" if fault.seq is None else f" record {fault.seq}"
    return f"{key}{record}: {fault.kind}: {printable(fault.what)}"


def verify_lines(found: Contents) -> Iterator[str]:
    """Yield what is wrong, then the counts."""
    faults = found.all_faults
    yield from map(fault_line, faults)
    records = sum(each.records for each in found.runs)
    whole = "all is whole" if found.runs else "nothing is kept in it"
    summary = counted(len(faults), "fault") if faults else whole
    yield (
        f"{printable(str(found.file))}: {counted(len(found.runs), 'run')},"
        f" {counted(records, 'record')}: {summary}"
    )


def _state(saved: Saved) -> str:
    return printable(state_of(saved))


def _values(values: Mapping[str, object]) -> Iterator[str]:
    yield from (f"  {name!r}: {value!r}" for name, value in values.items())


def _message(message: Message) -> str:
    extra = f"  extra={dict(message.extra)!r}" if message.extra else ""
    return printable(show_message(message)) + extra


def _entry(at: int, entry: Entry | None) -> str:
    if entry is None:
        return f"{at}  not begun"
    return f"{at}  {printable(f'{entry.hook} {entry.owner}')}: {_how(entry)}"


def _how(entry: Entry) -> str:
    """Return how far an entry is; one that was answered is at work, or died at it."""
    if entry.done:
        return "done"
    waits = any(pending_in(entry))
    answered = any(each.answers for each in entries_in(entry))
    return "answered, not ended" if answered and not waits else "interrupted"


def _pending(pending: Pending) -> str:
    return f"{printable(str(pending.address))}: {json_text(pending.payload)}"


def json_text(value: Json) -> str:
    """Return JSON in a line; values of other types by their repr."""
    return printable(json.dumps(value, ensure_ascii=False, default=repr))


def listed(found: Contents) -> Form:
    """Return the runs of a file, without their messages and values."""
    return {
        "file": str(found.file),
        "runs": [_summary_form(each) for each in found.runs],
        "faults": _fault_forms(found),
    }


def verified(found: Contents) -> Form:
    """Return what is wrong in a file, with the counts of what was looked at."""
    return {
        "file": str(found.file),
        "runs": len(found.runs),
        "records": sum(each.records for each in found.runs),
        "faults": _fault_forms(found),
    }


def run_form(kept: KeptRecords) -> Form:
    """Return a run: its messages and values, the latter as a checkpoint packs them."""
    if kept.saved is None:
        return _summary_form(kept)
    saved, types = kept.saved, Types(keep_unknown=True)
    return {
        **_summary_form(kept),
        "agent": saved.start.agent,
        "profile": saved.start.profile,
        "streaming": saved.start.streaming,
        "messages": [_message_form(each, types) for each in saved.messages],
        "given": saved.start.given,
        "locals": {name: types.pack(each) for name, each in saved.locals.items()},
        "context": {name: types.pack(v) for name, v in saved.point.ctx.items()},
        "attempt": saved.point.attempt,
        "resume": resume_line(kept.key, saved),
    }


def _summary_form(kept: KeptRecords) -> Form:
    form: Form = {"key": kept.key, "records": kept.records}
    if kept.part:
        types = Types(keep_unknown=True)
        return {**form, "part": [_step_form(each, types) for each in kept.part]}
    if kept.saved is None:
        return {**form, "faults": [asdict(each) for each in kept.faults]}
    return {**form, **_standing_form(kept.saved)}


def _standing_form(saved: Saved) -> Form:
    types = Types(keep_unknown=True)
    return {
        "state": state_of(saved),
        "phase": saved.point.phase,
        "iteration": saved.iteration,
        "message_count": len(saved.messages),
        "steps": saved.steps,
        "pending": _pending_form(saved.pending, types),
    }


def _step_form(step: Step, types: Types) -> Form:
    values = {k: v for k, v in step.locals.items() if v is not GONE}
    return {
        "step": step.seq,
        "phase": step.point.phase,
        "iteration": step.iteration,
        "keep": step.splice.keep,
        "messages": [_message_form(each, types) for each in step.splice.messages],
        "locals": {name: types.pack(each) for name, each in values.items()},
        "deleted": [name for name in step.locals if name not in values],
        "pending": _pending_form(step.pending, types),
    }


def _pending_form(pending: Sequence[Pending], types: Types) -> list[Form]:
    return [
        {"address": str(each.address), "payload": types.pack(each.payload)}
        for each in pending
    ]


def _fault_forms(found: Contents) -> list[Form]:
    return [asdict(each) for each in found.all_faults]


def _message_form(message: Message, types: Types) -> Form:
    form: Form = {"role": message.role, "content": message.content}
    if message.tool_calls:
        form["tool_calls"] = [asdict(each) for each in message.tool_calls]
    for name in ("tool_call_id", "name", "id"):
        if getattr(message, name) is not None:
            form[name] = getattr(message, name)
    if message.extra:
        form["extra"] = types.pack_extra(message.extra)
    return form
