"""The table of observers in docs/observers.md: who tells what rightly, by runs.

    python -m tools.pages observers [TITLE…]

Each observer of ``observers.toml``, or those of these titles, is judged on its engine
with its packages. What is known of the others is kept in ``docs/engines.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict

from tools.pages.blocks import DOCS, between, row, table
from tools.pages.engine_facts import FILE, with_facts

PAGE: Final = DOCS / "observers.md"
OBSERVERS: Final = Path(__file__).with_suffix(".toml")
EXAMPLES: Final = "15"
QUESTIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "is the agent the same?": ("OBS-009", "OBS-010"),
        "one span a call?": ("OBS-001", "OBS-002"),
        "does each end?": ("OBS-003",),
        "nested as the calls?": ("OBS-004", "OBS-005"),
        "an error where one was?": ("OBS-006",),
        "all that was said?": ("OBS-007", "OBS-008"),
        "no secrets?": ("OBS-011",),
        "tokens once?": ("OBS-012",),
        "the model's ids?": ("OBS-013",),
    }
)
"""What is asked of an observer, and by which clauses it is answered."""
OPEN: Final = frozenset(("kept", "n/a", "blocked"))
"""Verdicts that accuse nobody: of what is blocked no world decided."""


class ListedObserver(BaseModel):
    """An observer: on which engine it is judged, with what, and what turns it on."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    title: str
    engine: str
    packages: tuple[str, ...]
    setup: str


class ObserverFacts(BaseModel):
    """How an observer was judged last.

    ``verdicts`` are by clause: kept, n/a, blocked, fail, or error for one that failed
    and did not when it was played again.
    ``broken`` says why there is none.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    title: str
    engine: str
    packages: tuple[str, ...]
    verdicts: dict[str, str]
    broken: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by."""
        return self.title, self.engine


def main(titles: Sequence[str]) -> int:
    """Judge them, and write the table; return the exit code."""
    listed = tomllib.loads(OBSERVERS.read_text("utf-8"))["observer"]
    every = list(map(ListedObserver.model_validate, listed))
    chosen = [each for each in every if not titles or each.title in titles]
    if not chosen:
        sys.stderr.write(f"no observer {titles[0]!r} in {OBSERVERS.name}\n")
        return 2
    facts = {each.key: each for each in _known()}
    for each in chosen:
        found = judged(each)
        facts[found.key] = found
        keys = [(x.title, x.engine) for x in every]
        _write([facts[key] for key in keys if key in facts])
        sys.stdout.write(f"{each.title} on {each.engine}: {found.broken or 'judged'}\n")
    return 0


def judged(observer: ListedObserver) -> ObserverFacts:
    """Return what ``conform`` says of an observer."""
    known = observer.model_dump(include={"title", "engine", "packages"})
    with TemporaryDirectory() as folder:
        setup, report = Path(folder, "tracing.py"), Path(folder, "report.json")
        setup.write_text(observer.setup, "utf-8")
        command = [sys.executable, "-m", "refengine", "conform", observer.engine]
        command += ["--observer", setup.name, "--examples", EXAMPLES]
        command += ["--json", report.name]
        command += [word for each in observer.packages for word in ("--with", each)]
        done = subprocess.run(  # noqa: S603  # our own command
            command, check=False, cwd=folder, capture_output=True, encoding="utf-8"
        )
        if not report.exists():
            why = (done.stderr.strip() or "no report").splitlines()[-1]
            return ObserverFacts(**known, verdicts={}, broken=why)
        engines = json.loads(report.read_text("utf-8"))["engines"]
    return ObserverFacts(**known, verdicts=dict(_verdicts(engines[0]["results"])))


def _verdicts(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    said = {"pass": "kept", "not-applicable": "n/a"}
    for each in results:
        verdict: str = each["verdict"]
        yield each["clause"], said.get(verdict, verdict)


def _known() -> Sequence[ObserverFacts]:
    found = json.loads(FILE.read_text("utf-8")).get("observers", [])
    return list(map(ObserverFacts.model_validate, found))


def _write(facts: Sequence[ObserverFacts]) -> None:
    made = [each.model_dump(mode="json", exclude_defaults=True) for each in facts]
    FILE.write_text(with_facts("observers", made), "utf-8")
    page = PAGE.read_text("utf-8")
    content = "\n".join(_table(facts)) + "\n"
    PAGE.write_text(between(page, "observers", content), "utf-8")


def _table(facts: Sequence[ObserverFacts]) -> Iterator[str]:
    yield from table("observer", "on", "with", *QUESTIONS)
    for each in facts:
        packages = ", ".join(x.replace("==", " ") for x in each.packages)
        cells = [told_in_cell(each, clauses) for clauses in QUESTIONS.values()]
        if each.broken:
            cells[0] = f"not judged: {each.broken.rpartition('refengine conform: ')[2]}"
        yield row(each.title, f"`{each.engine}`", packages, *cells)


def told_in_cell(found: ObserverFacts, clauses: Sequence[str]) -> str:
    """Return what a row says of a question that these clauses answer."""
    said = {each: found.verdicts.get(each, "n/a") for each in clauses}
    wrong = [each for each, verdict in said.items() if verdict == "fail"]
    if wrong:
        return f"**no**: {', '.join(wrong)}"
    unsteady = [each for each, verdict in said.items() if verdict not in OPEN]
    if unsteady:
        return f"not the same each time: {', '.join(unsteady)}"
    return "yes" if "kept" in said.values() else "—"
