"""A judgement as one JSON document, for a machine."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from compat.report.conform_gathered import EngineReport, JudgementReport
from compat.report.conform_stream import finite
from compat.verdicts.conformance import VERDICTS, Event

Json: TypeAlias = "dict[str, Any]"

VERSION: Final = 1
_SAID: Final = {"event", "engine"}
"""What every event of an engine repeats."""


def to_json(judgement: JudgementReport) -> Json:
    """Return the document: only its header holds times, paths and versions.

    ``digest`` is that of the event stream, so it is the same in every report of one
    judgement, and in two judgements of the same engines, corpus and contract.
    """
    return {
        "version": VERSION,
        "header": _without(judgement.header.model_dump(), {"event", "version"}),
        "digest": judgement.footer.digest,
        "exit": judgement.footer.exit_code,
        "contract": [
            _without(each.model_dump(), {"event"}) for each in judgement.clauses
        ],
        "engines": [_engine(each) for each in judgement.engines],
    }


def json_text(judgement: JudgementReport) -> str:
    """Return the text of a report file; ASCII, so that every string survives."""
    return json.dumps(to_json(judgement), indent=2) + "\n"


def _engine(report: EngineReport) -> Json:
    """Return the summary first: what a program looks at before all else."""
    return {
        "engine": report.summary.engine,
        **_without(report.summary.model_dump(), _SAID),
        "verdicts": {each: report.summary.verdicts.get(each, 0) for each in VERDICTS},
        **_without(report.info.model_dump(), {*_SAID, "profile"}),
        "smoke": [_said(each) for each in report.smokes],
        "faults": [_said(each) for each in report.faults],
        "results": [_said(each) for each in report.results],
    }


def _said(event: Event) -> Json:
    """Return what an event says, its keys in the order that a stream has them in."""
    text = json.dumps(finite(_without(event.model_dump(), _SAID)), sort_keys=True)
    found: Json = json.loads(text)
    return found


def _without(data: Json, names: set[str]) -> Json:
    return {name: value for name, value in data.items() if name not in names}
