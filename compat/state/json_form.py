"""What ``--json`` prints: the same as the lines, for a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TypeAlias

from compat.state.contents import Contents, KeptRecords
from compat.state.lines import resume_line, state_of
from refengine.interrupts import Pending
from refengine.messages import Message
from refengine.resume.checkpoint import GONE, Saved, Step
from refengine.state.values import Types

Form: TypeAlias = dict[str, object]


def listed(found: Contents) -> Form:
    """Return the runs of a file, without their messages and values."""
    return {
        "file": str(found.file),
        "runs": [_summary(each) for each in found.runs],
        "faults": _faults(found),
    }


def verified(found: Contents) -> Form:
    """Return what is wrong in a file, with the counts of what was looked at."""
    return {
        "file": str(found.file),
        "runs": len(found.runs),
        "records": sum(each.records for each in found.runs),
        "faults": _faults(found),
    }


def run_form(kept: KeptRecords) -> Form:
    """Return a run: its messages and values, the latter as a checkpoint packs them."""
    if kept.saved is None:
        return _summary(kept)
    saved, types = kept.saved, Types(keep_unknown=True)
    return {
        **_summary(kept),
        "agent": saved.start.agent,
        "profile": saved.start.profile,
        "streaming": saved.start.streaming,
        "messages": [_message(each, types) for each in saved.messages],
        "given": saved.start.given,
        "locals": {name: types.pack(each) for name, each in saved.locals.items()},
        "context": {name: types.pack(v) for name, v in saved.point.ctx.items()},
        "attempt": saved.point.attempt,
        "resume": resume_line(kept.key, saved),
    }


def _summary(kept: KeptRecords) -> Form:
    form: Form = {"key": kept.key, "records": kept.records}
    if kept.part:
        types = Types(keep_unknown=True)
        return {**form, "part": [_step(each, types) for each in kept.part]}
    if kept.saved is None:
        return {**form, "faults": [asdict(each) for each in kept.faults]}
    return {**form, **_standing(kept.saved)}


def _standing(saved: Saved) -> Form:
    types = Types(keep_unknown=True)
    return {
        "state": state_of(saved),
        "phase": saved.point.phase,
        "iteration": saved.iteration,
        "message_count": len(saved.messages),
        "steps": saved.steps,
        "pending": _pending(saved.pending, types),
    }


def _step(step: Step, types: Types) -> Form:
    values = {k: v for k, v in step.locals.items() if v is not GONE}
    return {
        "step": step.seq,
        "phase": step.point.phase,
        "iteration": step.iteration,
        "keep": step.splice.keep,
        "messages": [_message(each, types) for each in step.splice.messages],
        "locals": {name: types.pack(each) for name, each in values.items()},
        "deleted": [name for name in step.locals if name not in values],
        "pending": _pending(step.pending, types),
    }


def _pending(pending: Sequence[Pending], types: Types) -> list[Form]:
    return [
        {"address": str(each.address), "payload": types.pack(each.payload)}
        for each in pending
    ]


def _faults(found: Contents) -> list[Form]:
    return [asdict(each) for each in found.all_faults]


def _message(message: Message, types: Types) -> Form:
    form: Form = {"role": message.role, "content": message.content}
    if message.tool_calls:
        form["tool_calls"] = [asdict(each) for each in message.tool_calls]
    for name in ("tool_call_id", "name", "id"):
        if getattr(message, name) is not None:
            form[name] = getattr(message, name)
    if message.extra:
        form["extra"] = types.pack_extra(message.extra)
    return form
