"""The pages about engines: what each keeps, where they differ, what authors ask.

    refengine conform ENGINE… --json REPORT
    python -m tools.pages engines REPORT…
    python -m tools.pages answers ENGINE…

The first writes tables from reports of ``refengine conform``: for each kind of agent
one of engines by families of clauses, and one of the postures in which the profiles of
those engines differ. The other asks engines the questions of ``questions.json``. Both
keep what is known of other engines in ``docs/engines.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compat.engines.load_errors import LoadError
from compat.engines.loading import load_engine
from compat.profiles.kinds import known_profile
from refengine.postures import options_of
from tools.pages import questions
from tools.pages.blocks import DOCS, between, code, row, table
from tools.pages.engine_facts import (
    FILE,
    EngineFacts,
    NoReportsError,
    Outcome,
    facts_text,
    joined,
    read_facts,
    read_reports,
)

PAGE: Final = DOCS / "engines.md"
TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": "Agents with hooks",
        "flow": "The Flow dialect",
        "stream-loop": "The stream loop",
        "callbacks": "Sessions and their callbacks",
    }
)
"""What agents of each dialect are called; "" is of none."""
NOTHING: Final = "—"
"""Stands where no clause of a family was judged."""
OUTCOMES: Final[tuple[Outcome, ...]] = ("kept", "known", "failed", "n/a")


def tables(rows: Sequence[EngineFacts]) -> str:
    """Return all tables, a pair for each dialect that engines are of."""
    return "\n".join(
        _of_dialect(title, found)
        for dialect, title in TITLES.items()
        if (found := [each for each in rows if each.dialect == dialect])
    )


def _of_dialect(title: str, rows: Sequence[EngineFacts]) -> str:
    lines = [f"## {title}\n", *_verdicts(rows), "", *_postures(rows)]
    return "\n".join(lines) + "\n"


def _verdicts(rows: Sequence[EngineFacts]) -> Iterator[str]:
    families = dict.fromkeys(
        family for each in rows for family, counts in each.families.items() if counts
    )
    head = ["engine", "version", "profile", "verdict", "drawn worlds", *families]
    yield from table(*head)
    for each in rows:
        verdict = "conformant" if each.conformant else "not conformant"
        cells = [_cell(each.families.get(family, {})) for family in families]
        names = [code(each.name), each.version, code(each.profile)]
        yield row(*names, verdict, f"{each.drawn:,}", *cells)


def _cell(counts: Mapping[Outcome, int]) -> str:
    """Return how a family came out: 12, 1 known, **2 failed**, 3 n/a."""
    said = [_told(each, counts[each]) for each in OUTCOMES if counts.get(each)]
    return ", ".join(said) or NOTHING


def _told(outcome: Outcome, count: int) -> str:
    if outcome == "kept":
        return str(count)
    said = f"{count} {outcome}"
    return f"**{said}**" if outcome == "failed" else said


def _postures(rows: Sequence[EngineFacts]) -> Iterator[str]:
    """Yield a row for each posture in which profiles of these engines differ."""
    profiles = {row.profile: known_profile(row.profile)[1] for row in rows}
    first = next(iter(profiles.values()))
    differing = [
        posture
        for posture in options_of(type(first))
        if len({getattr(each, posture) for each in profiles.values()}) > 1
    ]
    if not differing:
        yield "Their profiles differ in no posture."
        return
    yield from table("posture", *map(code, profiles))
    for posture in differing:
        options = [code(str(getattr(each, posture))) for each in profiles.values()]
        yield row(code(posture), *options)


def written(page: str, facts: Sequence[EngineFacts]) -> str:
    """Return docs/engines.md with its tables as these engines make them."""
    page = between(page, "answers", "\n".join(questions.overview(facts)) + "\n")
    return between(page, "engines", tables(facts))


def write_pages(facts: Sequence[EngineFacts]) -> None:
    """Write the file of facts, and both pages that are made of it."""
    FILE.write_text(facts_text(facts), "utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), facts), "utf-8")
    questions.PAGE.write_text(questions.page(facts), "utf-8")


def main(arguments: Sequence[str]) -> int:
    """Take the engines of these reports, and write the pages; return the exit code."""
    try:
        judged = read_reports(list(map(Path, arguments)))
    except (NoReportsError, OSError, json.JSONDecodeError) as error:
        return _refused(error)
    write_pages(joined(read_facts(), judged))
    return 0


def answer(arguments: Sequence[str]) -> int:
    """Ask these engines, and write the pages; return the exit code.

    Those of a dialect are left as they are: the questions are about hooks.
    """
    known = {each.name: each for each in read_facts()}
    for name in arguments:
        if name not in known:
            return _refused(f"{name}: judge it first, and give 'engines' its report")
        if known[name].dialect:
            continue
        try:
            loaded = load_engine(name)
            found = {x.title: x.asked_of(loaded) for x in questions.questions()}
        except (LoadError, questions.NewAnswerError) as error:
            return _refused(error)
        known[name] = known[name].asked(found, loaded.version)
    write_pages([*known.values()])
    return 0


def _refused(why: object) -> int:
    print(why, file=sys.stderr)  # noqa: T201  # a command says what is wrong
    return 2
