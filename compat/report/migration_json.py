"""The answer of a migration check, for a machine. Its body holds no times and paths."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from compat.report.sharpness import sharpness_json
from compat.verdicts.migration import (
    DescribedDivergence,
    Exercise,
    Migration,
    UnusualDivergence,
)
from refengine.testing.channels import VOLATILE
from refengine.testing.scenario import Scenario

Json: TypeAlias = "dict[str, Any]"

VERSION: Final = 1


def report(body: Json, header: Mapping[str, object], code: int) -> Json:
    """Return header and body; ``hash`` covers the body, ``exit`` is the exit code.

    What depends on the time or the machine belongs to the header.
    """
    body = {**body, "exit": code}
    text = json.dumps(body, sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"version": VERSION, "header": dict(header), "hash": digest, **body}


def to_json(verdict: Migration) -> Json:
    """Return the verdict as JSON values."""
    return {
        "holds": verdict.holds,
        "required": verdict.required,
        "divergence": _divergence(verdict.divergence),
        "world": _world(verdict.world),
        "worlds": verdict.worlds,
        "diverging": verdict.diverging,
        "groups": [
            {"code": each.code, "channel": each.channel, "worlds": each.worlds}
            for each in verdict.groups
        ],
        "ordinary": verdict.ordinary,
        "unusual_worlds": verdict.apart,
        "outside": dict(verdict.outside),
        "unusual": _unusual(verdict.unusual),
        "families": dict(verdict.families),
        "corpus": verdict.digest,
        "exercise": {side: _exercise(each) for side, each in verdict.exercise.items()},
        "not_exercised": [list(each) for each in verdict.idle],
        "noise": [
            {
                "side": n.side,
                "channel": n.channel,
                "path": n.path,
            }
            for n in verdict.noise
        ],
        "broken_intents": [
            {"side": b.side, "text": b.text, "world": _world(b.world)}
            for b in verdict.broken
        ],
        "allowed": [
            {"channel": a.channel, "path": a.path, "reason": a.reason, "used": a.used}
            for a in verdict.allowed
        ],
        "unused": list(verdict.unused),
        "volatile_by_door": dict(VOLATILE) if verdict.of_graphs else {},
        "search": verdict.searched
        and {"plays": verdict.searched.plays, "joined": verdict.searched.joined},
        "sharpness": sharpness_json(verdict.sharpness),
        "fault": verdict.fault
        and {"side": verdict.fault.side, "kind": verdict.fault.kind},
    }


def dump(value: object) -> str:
    """Return the text of a report file."""
    return json.dumps(value, indent=2) + "\n"


def _divergence(found: DescribedDivergence | None) -> Json | None:
    if found is None:
        return None
    at = found.difference
    return {
        "code": found.code,
        "severity": found.severity,
        "summary": found.summary,
        "where": found.where,
        "channel": at.channel,
        "path": at.path,
        "old": at.old,
        "new": at.new,
        "lines": _pairs(found.lines),
    }


def _unusual(found: UnusualDivergence | None) -> Json | None:
    if found is None:
        return None
    return {
        "diverging": found.diverging,
        "reasons": dict(found.reasons),
        "divergence": _divergence(found.divergence),
        "world": _world(found.world),
    }


def _pairs(lines: Sequence[tuple[str, str]]) -> list[list[str]]:
    return [[mark, text] for mark, text in lines]


def _exercise(ran: Exercise) -> Json:
    return {
        "hooks": dict(ran.hooks),
        "branches": ran.arms,
        "not_taken": list(ran.uncovered),
    }


def _world(world: Scenario | None) -> Json | None:
    if world is None:
        return None
    shown: Json = json.loads(world.model_dump_json(exclude_defaults=True))
    return shown
