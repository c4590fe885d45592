"""Checks of migrations in SARIF 2.1.0, from which code hosts annotate a change's lines.

Each case that is not met is a result, of the rule that its divergence's code is, at the
line of the new side that ran last before it, or else at its file. A case without a
verdict is a notification of the run, which then was no success.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from compat.report.migration_basis import version_lines
from compat.report.migration_for_ci import headline, name_of, place_of
from compat.report.plain_text import plain
from compat.verdicts.migration import JudgedCase

Json: TypeAlias = "dict[str, Any]"

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
NOT_MET: Final = "NOT_MET"
"""The rule of a case that is not met, though nothing diverges."""
_UNEXPECTED: Final = "the case is not what it is expected to be"
LEVELS: Final[Mapping[str, str]] = MappingProxyType(
    {"error": "error", "warning": "warning", "info": "note"}
)
KEY: Final = "refengine/v1"
"""Names the fingerprint: equal ones are one finding, whatever the line is by now."""


def sarif_text(cases: Sequence[JudgedCase], codes: Mapping[str, str]) -> str:
    """Return the text of the file; ``codes`` have a sentence each for what NEW does."""
    bad = [each for each in cases if not each.met]
    faults = [each for each in bad if _no_verdict(each)]
    results = [_result(each) for each in bad if not _no_verdict(each)]
    names = sorted({each["ruleId"] for each in results})
    rules = {each: f"NEW: {codes.get(each, _UNEXPECTED)}" for each in names}
    invocation: Json = {"executionSuccessful": not faults}
    if faults:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": _message(each)} for each in faults
        ]
    return log_text(rules, results, invocation)


def log_text(
    rules: Mapping[str, str], results: Sequence[Json], invocation: Json
) -> str:
    """Return the text of a file of one run; each rule has a sentence."""
    driver = {
        "name": "refengine",
        "version": version("refengine"),
        "rules": [
            {"id": name, "shortDescription": {"text": f"{said}."}}
            for name, said in rules.items()
        ],
    }
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _no_verdict(case: JudgedCase) -> bool:
    return case.verdict.fault is not None or bool(case.verdict.noise)


def _result(case: JudgedCase) -> Json:
    found = None if case.verdict.sufficient else case.verdict.divergence
    rule = NOT_MET if found is None else found.code
    level = "error" if found is None else LEVELS[found.severity]
    place = place_of(case)
    return {
        "ruleId": rule,
        "level": level,
        "message": _message(case),
        **({} if place is None else {"locations": [location(*place)]}),
        "partialFingerprints": {KEY: _fingerprint(case, rule)},
    }


def _message(case: JudgedCase) -> Json:
    """Return what came of a case, between which versions, and what that may be."""
    verdict = case.verdict
    said = [f"{plain(name_of(case))}: {plain(headline(case))}"]
    said += version_lines(verdict.versions)
    said += [f"may be: {each}" for each in verdict.documented]
    return {"text": "\n".join(said)}


def location(file: str, line: int | None) -> Json:
    """Return a place: a file as a code host names it, and a line if one is known."""
    place: Json = {"artifactLocation": {"uri": quote(file)}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _fingerprint(case: JudgedCase, rule: str) -> str:
    found = case.verdict.divergence
    place = "" if found is None else found.difference.anywhere
    told = "\0".join((name_of(case), rule, place))
    return hashlib.sha256(told.encode()).hexdigest()[:32]
