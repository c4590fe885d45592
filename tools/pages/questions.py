"""What a handler's author asks of an engine, each question answered by a run.

The worlds of ``questions.json`` are played on an engine; what is seen there is put into
words by the same file. docs/questions.md shows both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Final, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from compat.engines.capabilities import lacking_of, refusal_of
from compat.engines.loading import LoadedEngine
from property_tests.corpus import repeated
from property_tests.oracle import agent_entries
from refengine.errors import RefengineError, error
from refengine.testing.clock import run
from refengine.testing.projection import Entry, EntryPattern
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from tools.pages.blocks import DOCS, code, row, table
from tools.pages.engine_facts import Answer, EngineFacts

DATA: Final = Path(__file__).with_name("questions.json")
PAGE: Final = DOCS / "questions.md"
HEAD: Final = """\
<!-- written by python -m tools.pages answers -->

# What a handler's author asks

Each question of [the table of engines](engines.md) with the worlds that it is asked \
in, as [scenarios](scenarios.md), and what was seen there.
An entry is an observation of the trace: its kind, and what of it counts for the \
question.
"""


@error
class NewAnswerError(RefengineError, LookupError):
    """An engine does what no answer of the question has words for."""

    engine: str
    question: str
    seen: str
    says = (
        "{engine} answers {question!r} as nothing else does: say in"
        " tools/pages/questions.json what it means that these are seen: {seen}"
    )


class Worded(BaseModel):
    """What is seen, and what that means in a few words."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    says: str
    seen: list[JsonValue]


class AskedWorld(BaseModel):
    """A world that a question is asked in; ``repeat`` is as in fixed worlds."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    scenario: dict[str, JsonValue]
    repeat: dict[str, int] = Field(default_factory=dict)

    def read(self, where: str) -> Scenario:
        """Return the scenario; raises ScenarioError."""
        return repeated(read_scenario(self.scenario, where), self.repeat, where)


class Question(BaseModel):
    """One question: its worlds, what of their traces shows the answer, and the answers.

    ``shows`` are entries of a projection (``refengine.testing.projection``); what they
    take is seen in the order of the trace, one world behind the other.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    title: str
    asks: str
    because: str
    worlds: Annotated[tuple[AskedWorld, ...], Field(min_length=1)]
    shows: Annotated[tuple[str, ...], Field(min_length=1)]
    answers: tuple[Worded, ...]

    @property
    def target(self) -> str:
        """Where the page is about it, as it is linked to."""
        return f"{PAGE.name}#{self.title.lower().replace(' ', '-')}"

    @cached_property
    def patterns(self) -> Sequence[EntryPattern]:
        """What is looked at, read once."""
        return tuple(map(EntryPattern.read, self.shows))

    def asked_of(self, loaded: LoadedEngine) -> Answer:
        """Return what an engine answers, by playing it; raises NewAnswerError."""
        seen: list[JsonValue] = []
        for each in self.worlds:
            scenario = each.read(self.title)
            trace = run(play(scenario, loaded.engine))
            refused = refusal_of(trace)
            if refused is not None:
                return Answer(lacks=lacking_of(refused) or refused)
            seen += self._seen(agent_entries(trace, scenario))
        for worded in self.answers:
            if worded.seen == seen:
                return Answer(says=worded.says, seen=seen)
        raise NewAnswerError(
            loaded.name, self.title, json.dumps(seen, ensure_ascii=False)
        )

    def _seen(self, entries: Sequence[Entry]) -> Iterator[JsonValue]:
        for entry in entries:
            for pattern in self.patterns:
                for each in pattern.rows(entry):
                    shown = cast("list[JsonValue]", pattern.shown(each))
                    yield [pattern.kind, *shown]


def _written(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def questions() -> tuple[Question, ...]:
    """Return all questions, in the order of the page."""
    return TypeAdapter(tuple[Question, ...]).validate_json(DATA.read_bytes())


def overview(facts: Sequence[EngineFacts]) -> Iterator[str]:
    """Yield the table of all answers: a row for each question, a column an engine."""
    asked = [each for each in facts if each.answers]
    yield from table("question", *(f"{code(x.name)} {x.version}" for x in asked))
    for each in questions():
        cells = [_cell(x.answers.get(each.title), each.target) for x in asked]
        yield row(f"[{each.asks}]({each.target})", *cells)


def _cell(answer: Answer | None, target: str) -> str:
    if answer is None or answer.says is None:
        return "—"
    if not answer.was:
        return f"[{answer.says}]({target})"
    return f"[**{answer.says}**]({target}) (was: {answer.was})"


def page(facts: Sequence[EngineFacts]) -> str:
    """Return docs/questions.md: each question with its worlds and who answers what."""
    parts = [HEAD]
    for each in questions():
        parts += [f"## {each.title}\n", f"{each.asks}", f"{each.because}\n"]
        parts += [_world(world) for world in each.worlds]
        parts += [*_answers(each, facts), ""]
    return "\n".join(parts)


def _world(world: AskedWorld) -> str:
    parts = [f'  "{key}": {_written(value)}' for key, value in world.scenario.items()]
    often = "".join(f", {n:,} {name}" for name, n in world.repeat.items())
    told = ",\n".join(parts)
    return f'```json title="the world{often}"\n{{\n{told}\n}}\n```\n'


def _answers(question: Question, facts: Sequence[EngineFacts]) -> Iterator[str]:
    yield from table("answer", "engines", "seen")
    given = [(x, answer) for x in facts if (answer := x.answers.get(question.title))]
    for worded in question.answers:
        names = [x.name for x, answer in given if answer.says == worded.says]
        if names:
            seen = code(_written(worded.seen))
            yield row(worded.says, ", ".join(map(code, names)), seen)
    for lack in dict.fromkeys(answer.lacks for _, answer in given if answer.lacks):
        names = [x.name for x, answer in given if answer.lacks == lack]
        yield row(f"without {code(lack)}", ", ".join(map(code, names)), "—")
