"""What a project's page shows of a judgement: a badge, and a line of its history.

The badge is either what shields.io reads from an address, or a picture that needs
nobody. The history is a file that grows: a line for each engine and judgement.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Final

from compat.report.conform_gathered import EngineReport, JudgementReport
from compat.report.conform_text import counted, plain
from compat.verdicts.exit_codes import FAULT, NOTHING_RAN

LABEL: Final = "conformance"
GREEN: Final = "#2a7f3a"
RED: Final = "#c2281d"
GREY: Final = "#6b7280"
NAMES: Final = {GREEN: "brightgreen", RED: "red", GREY: "lightgrey"}
"""What shields.io calls the colours."""
TITLE: Final = (
    "| date | engine | version | profile | contract | passed | known | conformant |\n"
    "|---|---|---|---|---|---|---|---|\n"
)
_LETTER: Final = 6.6
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{label}: {message}"><title>{label}: {message}</title>\
<rect width="{width}" height="20" rx="3" fill="#444"/>\
<rect x="{left}" width="{right}" height="20" rx="3" fill="{color}"/>\
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" \
font-size="11"><text x="{middle}" y="14">{label}</text>\
<text x="{end}" y="14">{message}</text></g></svg>
"""


def badge_json(judgement: JudgementReport) -> str:
    """Return the badge as shields.io reads it from an address (its endpoint)."""
    message, color = _said(judgement)
    data = {"schemaVersion": 1, "label": LABEL, "message": message}
    return json.dumps({**data, "color": NAMES[color]}) + "\n"


def badge_svg(judgement: JudgementReport) -> str:
    """Return the badge as a picture, which loads nothing."""
    message, color = _said(judgement)
    left, right = (round(len(each) * _LETTER) + 12 for each in (LABEL, message))
    return _SVG.format(
        label=LABEL,
        message=html.escape(message),
        color=color,
        left=left,
        right=right,
        width=left + right,
        middle=left / 2,
        end=left + right / 2,
    )


def history_lines(judgement: JudgementReport) -> str:
    """Return a line of JSON for each engine; the date is that of the header."""
    rows = (_row(judgement, each) for each in judgement.engines)
    return "".join(f"{json.dumps(each)}\n" for each in rows)


def history_rows(judgement: JudgementReport) -> str:
    """Return a row of a Markdown table for each engine; ``TITLE`` stands over them."""
    return "".join(_markdown(judgement))


def _markdown(judgement: JudgementReport) -> Iterator[str]:
    for each in judgement.engines:
        row = _row(judgement, each)
        passed = f"{row.pop('passed')} of {row.pop('of')}"
        conformant = "yes" if row.pop("conformant") else "no"
        first = [row[n] for n in ("date", "engine", "version", "profile", "contract")]
        cells = [*map(str, first), passed, str(row["known"]), conformant]
        yield f"| {' | '.join(e.replace('|', '/') for e in cells)} |\n"


def _row(judgement: JudgementReport, report: EngineReport) -> dict[str, object]:
    header, summary = judgement.header, report.summary
    return {
        "date": header.started,
        "engine": plain(summary.engine),
        "version": plain(header.versions.get(summary.engine, "")),
        "profile": plain(summary.profile),
        "contract": header.contract,
        "passed": summary.verdicts.get("pass", 0),
        "of": summary.expected,
        "known": summary.known,
        "conformant": summary.conformant,
        "digest": judgement.footer.digest,
    }


def _said(judgement: JudgementReport) -> tuple[str, str]:
    """Return what the badge says, and its colour."""
    if judgement.footer.exit_code in {FAULT, NOTHING_RAN}:
        return "not judged", GREY
    found = [each.summary for each in judgement.engines]
    right = sum(each.conformant for each in found)
    color = GREEN if right == len(found) else RED
    if len(found) != 1:
        return f"{right} of {counted(len(found), 'engine')}", color
    [one] = found
    passed = one.verdicts.get("pass", 0)
    return f"{passed} of {counted(one.expected, 'clause')}", color
