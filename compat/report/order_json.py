"""The answer of an audit of a stack's order, for a machine: its model and schema.

    python -m compat.report.order_json

prints ``docs/audit-order.schema.json``. A pair has what a check of a migration has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from compat.report.migration_json import (
    ReportedVerdict,
    ReportHeader,
    ReportPart,
    to_json,
)
from compat.verdicts.order import OrderAudit

VERSION: Final = 1


class ReportedList(ReportPart):
    """Extensions that stand in one list, as the subject gave them."""

    place: str
    names: list[str]


class ReportedOrder(ReportedVerdict):
    """Two of a list: OLD is the stack as it is, NEW the same with that ``change``."""

    place: str
    first: str
    then: str
    change: str
    commutes: bool
    meant: str


class ReportedUntried(ReportPart):
    """Two of a list that were not put in another order, and why."""

    place: str
    first: str
    then: str
    why: str


class ReportedUnused(ReportPart):
    """A declared order that nothing needs, and why."""

    first: str
    then: str
    why: str


class OrderReport(ReportPart):
    """What ``refengine audit order --json`` writes; ``each`` has the worst first."""

    version: Literal[1]
    header: ReportHeader
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    exit: int
    required: str
    worlds: int
    corpus: str
    lists: list[ReportedList]
    each: list[ReportedOrder]
    untried: list[ReportedUntried]
    unused: list[ReportedUnused]
    volatile_unused: list[str]
    fault: dict[str, str] | None


def schema_text() -> str:
    """Return the published text: sorted, indented, with a newline at its end."""
    found = OrderReport.model_json_schema()
    found["title"] = f"The report of refengine audit order, version {VERSION}"
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


def order_json(found: OrderAudit) -> Mapping[str, Any]:
    """Return the audit as JSON values."""
    fault = found.fault
    return {
        "required": found.required,
        "worlds": found.worlds,
        "corpus": found.digest,
        "lists": [{"place": at, "names": list(names)} for at, names in found.lists],
        "each": [
            {
                "place": each.place,
                "first": each.first,
                "then": each.then,
                "change": each.moved,
                "commutes": each.commutes,
                "meant": each.meant,
                **to_json(each.verdict),
            }
            for each in found.judged
        ],
        "untried": [asdict(each) for each in found.untried],
        "unused": [asdict(each) for each in found.unused],
        "volatile_unused": list(found.volatile),
        "fault": fault and {"side": fault.side, "kind": fault.kind},
    }


if __name__ == "__main__":
    sys.stdout.write(schema_text())
