"""The files that come of a judgement, each in the kind that was asked for.

Here are those for programs: one JSON document; a badge, which is either what shields.io
reads from an address, or a picture that needs nobody; and a history, a file that grows
by a line for each engine and judgement.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from compat.report.conform_for_ci import junit_text, markdown_text
from compat.report.conform_gathered import EngineReport, JudgementReport, gather
from compat.report.conform_stream import finite
from compat.report.conform_text import counted
from compat.report.plain_text import plain, write_text
from compat.verdicts.conformance import VERDICTS, AnyEvent, Event
from compat.verdicts.exit_codes import FAULT, NOTHING_RAN

Json: TypeAlias = "dict[str, Any]"
Writer: TypeAlias = Callable[[JudgementReport], str]

VERSION: Final = 1
_SAID: Final = {"event", "engine"}
"""What every event of an engine repeats."""
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


class SamePathError(ValueError):
    """Two files are to be written to one path."""

    def __init__(self, one: str, other: str, path: Path) -> None:
        super().__init__(
            f"--{one} and --{other} are both to be written to {path}: give each its own"
        )


def check_paths(paths: Mapping[str, Path | None]) -> None:
    """Raise SamePathError if one file would be written over another."""
    seen: dict[Path, str] = {}
    for kind, path in paths.items():
        if path is not None:
            other = seen.setdefault(path.absolute(), kind)
            if other != kind:
                raise SamePathError(other, kind, path)


def write_reports(paths: Mapping[str, Path | None], events: Sequence[AnyEvent]) -> None:
    """Write a judgement to all paths that are given; raises OSError."""
    wanted = {kind: path for kind, path in paths.items() if path is not None}
    if not wanted:
        return
    gathered = gather(events)
    for kind, path in wanted.items():
        if kind == "history":
            _append(path, gathered)
        else:
            write_text(path, _writer(kind, path)(gathered))


def _append(path: Path, gathered: JudgementReport) -> None:
    """Let a history grow: lines of JSON, or a table where the file is Markdown."""
    table = path.suffix == ".md"
    new = not path.exists() or not path.stat().st_size
    with path.open("a", encoding="utf-8") as out:
        if table and new:
            out.write(TITLE)
        out.write((history_rows if table else history_lines)(gathered))


def _writer(kind: str, path: Path) -> Writer:
    """Return what writes one kind of report."""
    if kind == "badge":
        return badge_svg if path.suffix == ".svg" else badge_json
    if kind == "html":
        from compat.report.conform_page import page_text  # noqa: PLC0415  # loads jinja2

        return page_text
    return {"json": json_text, "junit": junit_text, "markdown": markdown_text}[kind]


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


def badge_json(judgement: JudgementReport) -> str:
    """Return the badge as shields.io reads it from an address (its endpoint)."""
    message, color = _badge(judgement)
    data = {"schemaVersion": 1, "label": LABEL, "message": message}
    return json.dumps({**data, "color": NAMES[color]}) + "\n"


def badge_svg(judgement: JudgementReport) -> str:
    """Return the badge as a picture, which loads nothing."""
    message, color = _badge(judgement)
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


def _badge(judgement: JudgementReport) -> tuple[str, str]:
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
