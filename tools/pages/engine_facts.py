"""What is known of each engine that was judged: ``docs/engines.json``, for other tools.

The pages about engines are written from this file alone. An engine that is judged, or
asked, again takes the place of what stands there of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from compat.engines.importing import installed_engines
from property_tests.dialects.dialects import dialect_of_family
from tools.pages.blocks import DOCS

FILE: Final = DOCS / "engines.json"
NO_VERSION: Final = "—"

Outcome: TypeAlias = Literal["kept", "known", "failed", "n/a"]
"""How a clause came out; "n/a" where a capability that it needs is missing."""


class NoReportsError(ValueError):
    """No report was given, or one in which no engine was judged."""

    def __init__(self, which: str) -> None:
        super().__init__(
            f"{which}: give reports that 'refengine conform ENGINE --json FILE' wrote"
        )


class Answer(BaseModel):
    """What an engine answers a question: in words, and by what was seen.

    ``lacks`` names the capability without which it cannot be asked. ``was`` is what it
    answered in another version, where that was something else.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    says: str | None = None
    seen: list[JsonValue] = Field(default_factory=list[JsonValue])
    lacks: str = ""
    was: str = ""


class EngineFacts(BaseModel):
    """One engine as it was judged last, and what it answers questions by their title.

    ``drawn`` is the number of worlds beside those that are fixed or recorded; families
    of clauses are in the order of the contract.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    profile: str
    dialect: str
    conformant: bool
    drawn: int
    families: dict[str, dict[Outcome, int]]
    answers: dict[str, Answer] = Field(default_factory=dict[str, Answer])

    def asked(self, answers: Mapping[str, Answer], version: str) -> EngineFacts:
        """Return it with these answers, which say what they were in another version."""
        found = dict(answers)
        for title, answer in answers.items():
            before = self.answers.get(title, answer)
            was = before.was
            if before.says and before.says != answer.says:
                was = f"{before.says}, in {self.version}"
            found[title] = answer.model_copy(update={"was": was})
        return self.model_copy(update={"answers": found, "version": version})


def facts_of(report: Mapping[str, Any], where: str) -> list[EngineFacts]:
    """Return the engines of a report of ``conform``; raises NoReportsError."""
    engines = report.get("engines")
    if not engines:
        raise NoReportsError(where)
    header = report["header"]
    family_of = {each["id"]: each["family"] for each in report["contract"]}
    drawn = header["worlds"] - header["fixed"] - header["recorded"]
    return [
        EngineFacts(
            name=engine["engine"],
            version=header["versions"].get(engine["engine"], NO_VERSION),
            profile=engine["profile"],
            dialect=dialect_of_family(next(iter(family_of.values()))),
            conformant=engine["conformant"],
            drawn=drawn,
            families=_counted(engine["results"], family_of),
        )
        for engine in engines
    ]


def _counted(
    results: Iterable[Mapping[str, Any]], family_of: Mapping[str, str]
) -> dict[str, dict[Outcome, int]]:
    found: dict[str, dict[Outcome, int]] = {x: {} for x in family_of.values()}
    for each in results:
        counts = found[family_of[each["clause"]]]
        counts[_outcome(each)] = counts.get(_outcome(each), 0) + 1
    return found


def _outcome(result: Mapping[str, Any]) -> Outcome:
    if result["known"] == "known":
        return "known"
    verdicts: Mapping[str, Outcome] = {"pass": "kept", "not-applicable": "n/a"}
    return verdicts.get(result["verdict"], "failed")


def read_facts() -> Sequence[EngineFacts]:
    """Return what stands in the file of the engines that are still installed."""
    there = installed_engines()
    found = json.loads(FILE.read_text("utf-8"))["engines"]
    every = map(EngineFacts.model_validate, found)
    return [each for each in every if each.name in there]


def joined(
    known: Iterable[EngineFacts], judged: Iterable[EngineFacts]
) -> list[EngineFacts]:
    """Return all engines; one that was judged again keeps its answers alone."""
    every = {each.name: each for each in known}
    for each in judged:
        before = every.get(each.name, each)
        every[each.name] = each.model_copy(update={"answers": before.answers})
    return list(every.values())


def facts_text(facts: Sequence[EngineFacts]) -> str:
    """Return the file's text, with what stands in it of others."""
    made = [each.model_dump(mode="json", exclude_defaults=True) for each in facts]
    return with_facts("engines", made)


def with_facts(what: str, made: Sequence[Mapping[str, Any]]) -> str:
    """Return the file's text with these facts in place of those that it has of them."""
    file = {**json.loads(FILE.read_text("utf-8")), what: made}
    return json.dumps(file, ensure_ascii=False, indent=1) + "\n"


def read_reports(paths: Sequence[Path]) -> list[EngineFacts]:
    """Return the engines of these reports, the last where one is in several.

    Raises NoReportsError where there are none.
    """
    if not paths:
        raise NoReportsError("no report")
    found: dict[str, EngineFacts] = {}
    for path in paths:
        report = json.loads(path.read_text("utf-8"))
        found |= {each.name: each for each in facts_of(report, str(path))}
    return list(found.values())
