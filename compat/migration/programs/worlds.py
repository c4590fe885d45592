"""Worlds for programs: small sessions in which the model does all that a model can do.

A program cannot be given a history, tools or extensions: it has its own. What a world
says is what the person asks, turn by turn, and what the model answers: texts, calls of
the program's own tools by their schemas, refusals, errors, streams that are cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from compat.migration.corpus import AS_GIVEN, Corpus, MigrationWorld
from compat.migration.given import NOTHING, GivenData
from refengine.messages import Message, ToolCall
from refengine.testing.notation import parse_message, write_message
from refengine.testing.scenario import ModelChunks, ModelFailure, RunSpec, Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.declared import DeclaredTool, argument_sets
from refengine.testing.subject_worlds.words import Dice, Words

LONG: Final = 4_000
LIMITS: Final = ("rate_limit", "overloaded", "server_error")
REFUSALS: Final = ("context_length", "invalid_request", "insufficient_quota")
TEXTS: Final = 4
"""With so many texts each tool is called."""
ROUNDS: Final = (3, 6, 12, 27)
"""So often in a row a model calls a tool: beyond the limits that programs set, and
those that frameworks have where nothing is said (10, 20 and 25)."""
Data = dict[str, Any]
Family = Callable[["ProgramKit"], Data]


class ProgramKit:
    """Dice, the words of both programs, and their tools; one for each world."""

    def __init__(self, seed: str, words: Words, tools: Sequence[DeclaredTool]) -> None:
        self.dice = Dice(seed)
        self.tools = tools
        self._texts = [" ".join(each.split()) for each in words.some_texts]
        self._number = 0

    def text(self) -> str:
        """Return a text in one line, not empty, mostly in the programs' words."""
        return self.dice.pick([each for each in self._texts if each] or ["a"])

    def call(self, tool: DeclaredTool | None = None) -> ToolCall:
        """Return a call of a tool, whose arguments fit it or once in a while do not."""
        self._number += 1
        name = f"call_{self._number}"
        found = tool or (self.dice.pick(self.tools) if self.tools else None)
        if found is None:
            return ToolCall(name, "no_such_tool", "{}")
        given = self.dice.pick([*argument_sets(found, [self.text()])])
        return ToolCall(name, found.name, json.dumps(given))

    def calls(self, many: int) -> str:
        """Return an answer that makes so many calls at once."""
        return write_message(
            Message("assistant", "", tuple(self.call() for _ in range(many)))
        )

    def says(self, text: str | None = None) -> str:
        """Return an answer of text."""
        return write_message(Message("assistant", text or self.text()))

    def asks(self, turns: int = 1) -> list[Data]:
        """Return turns in which a person says something."""
        return [
            {"input": [f"user:{self.text()}"], **({"continues": True} if at else {})}
            for at in range(turns)
        ]


def _world(runs: list[Data], *script: object) -> Data:
    return {"agent": {}, "runs": runs, "model_script": list(script)}


def _answers(kit: ProgramKit) -> Data:
    return _world(kit.asks(), kit.says())


def _turns(kit: ProgramKit) -> Data:
    return _world(kit.asks(3), kit.says(), kit.says(), kit.says())


def _calling(kit: ProgramKit) -> Data:
    return _world(kit.asks(), kit.calls(1), kit.says())


def _at_once(kit: ProgramKit) -> Data:
    return _world(kit.asks(), kit.calls(2 + kit.dice.below(2)), kit.says())


def _in_a_row(kit: ProgramKit) -> Data:
    steps = [kit.calls(1 + kit.dice.below(2)) for _ in range(2 + kit.dice.below(2))]
    return _world(kit.asks(), *steps, kit.says())


def _calls_and_turns(kit: ProgramKit) -> Data:
    runs = kit.asks(2)
    return _world(runs, kit.calls(2), kit.says(), kit.calls(1), kit.says())


def _wrong_calls(kit: ProgramKit) -> Data:
    wrong = kit.dice.pick(
        (
            ToolCall("call_1", "no_such_tool", "{}"),
            ToolCall("call_1", kit.call().name, "{}"),
            ToolCall("call_1", kit.call().name, '{"no_such_argument": 1}'),
        )
    )
    said = write_message(Message("assistant", "", (wrong,)))
    return _world(kit.asks(), said, kit.says())


def _long(kit: ProgramKit) -> Data:
    text = (kit.text() + " ") * LONG
    runs = kit.asks(2)
    return _world(runs, kit.says(text[:LONG].strip()), kit.says())


def _limited(kit: ProgramKit) -> Data:
    fails = {"error": kit.dice.pick(LIMITS)}
    many = 1 + kit.dice.below(2)
    return _world(kit.asks(2), *[fails] * many, kit.says(), kit.says())


def _failing(kit: ProgramKit) -> Data:
    fails = {"error": kit.dice.pick(REFUSALS)}
    return _world(kit.asks(2), fails, kit.says())


def _always_limited(kit: ProgramKit) -> Data:
    fails = {"error": kit.dice.pick(LIMITS)}
    return _world(kit.asks(), *[fails] * 8)


def _refusing(kit: ProgramKit) -> Data:
    said = Message("assistant", "", extra={"refusal": "I can't help with that."})
    return _world(kit.asks(2), write_message(said), kit.says())


def _cut(kit: ProgramKit) -> Data:
    text = kit.text()
    half = max(1, len(text) // 2)
    chunks = [f"assistant:{text[:half]}"]
    cut = {"chunks": chunks, "stream_error": "connection closed"}
    return _world(kit.asks(2), cut, kit.says(), kit.says())


def _ends_early(kit: ProgramKit) -> Data:
    said = Message("assistant", kit.text(), extra={"finish_reason": "length"})
    return _world(kit.asks(2), write_message(said), kit.says())


def _thinking(kit: ProgramKit) -> Data:
    thought = {"reasoning": kit.text()}
    said = Message("assistant", "", (kit.call(),), extra=thought)
    answer = Message("assistant", kit.text(), extra=thought)
    return _world(kit.asks(2), *map(write_message, (said, answer)), kit.says())


def _said_and_called(kit: ProgramKit) -> Data:
    said = Message("assistant", kit.text(), (kit.call(),))
    return _world(kit.asks(), write_message(said), kit.says())


FAMILIES: Final[Mapping[str, Family]] = {
    "answers": _answers,
    "calls": _calling,
    "calls at once": _at_once,
    "turns": _turns,
    "calls in a row": _in_a_row,
    "calls and turns": _calls_and_turns,
    "calls that do not fit": _wrong_calls,
    "text beside calls": _said_and_called,
    "refusals": _refusing,
    "limits": _limited,
    "errors": _failing,
    "limits without end": _always_limited,
    "cut streams": _cut,
    "answers cut off": _ends_early,
    "long texts": _long,
    "thoughts": _thinking,
}
"""What happens in a world, by what it is called; they take turns."""


def program_corpus(
    words: Words,
    tools: Sequence[DeclaredTool],
    examples: int,
    seed: int,
    *,
    costly: bool,
    given: GivenData = NOTHING,
) -> Corpus:
    """Return the fixed worlds of these tools, those ``given``, so many generated ones.

    Those of programs that are started for each session are ``costly``.
    """
    fixed = [_entry(*each, fixed=True) for each in _fixed(words, tools)]
    made = [
        _entry(*each, fixed=False)
        for each in islice(_generated(words, tools, seed), examples)
    ]
    worlds = _unique([*fixed, *_given(given), *made])
    return Corpus(tuple(worlds), seed, fits_a_program, slow=True, costly=costly)


def _given(given: GivenData) -> Iterator[MigrationWorld]:
    """Yield sessions of a user's own, as far as a program can be given them.

    What a person said in each turn and what the model answered is kept; instruction,
    tools and their results are the program's own.
    """
    for number, file in enumerate(given.files, 1):
        for each in file.worlds:
            found = _entry(
                f"{AS_GIVEN} {number}", _turns_of(each.scenario), fixed=False
            )
            if fits_a_program(found.scenario):
                yield found


def _turns_of(session: Scenario) -> Data:
    said = [
        [text for text in run.input if parse_message(text).role == "user"][-1:]
        for run in session.runs
    ]
    turns = [each for each in said if each]
    whole = session.model_dump(mode="json", exclude_defaults=True)
    runs = [
        {"input": each, **({"continues": True} if at else {})}
        for at, each in enumerate(turns)
    ]
    return _world(runs, *whole.get("model_script", ()))


def _fixed(words: Words, tools: Sequence[DeclaredTool]) -> Iterator[tuple[str, Data]]:
    """Yield a plain answer, calls with each set of their arguments, and long runs."""
    kit = ProgramKit("fixed", words, tools)
    yield "answers", _world(kit.asks(), kit.says())
    texts = [kit.text() for _ in range(TEXTS)]
    for tool in tools:
        for at, given in enumerate(argument_sets(tool, texts)):
            call = ToolCall(f"call_{at}", tool.name, json.dumps(given))
            said = write_message(Message("assistant", "", (call,)))
            yield "own tools", _world(kit.asks(), said, kit.says("done"))
    for many in ROUNDS if tools else ():
        steps = (kit.calls(1) for _ in range(many))
        yield "calls in a row", _world(kit.asks(), *steps, kit.says("done"))


def _generated(
    words: Words, tools: Sequence[DeclaredTool], seed: int
) -> Iterator[tuple[str, Data]]:
    number = 0
    while True:
        for family, make in FAMILIES.items():
            number += 1
            yield family, make(ProgramKit(f"{seed}/{number}", words, tools))


def _entry(family: str, data: Data, *, fixed: bool) -> MigrationWorld:
    scenario = read_scenario(data, f"world of family {family!r}")
    return MigrationWorld(scenario, family, fixed)


def _unique(worlds: Sequence[MigrationWorld]) -> Iterator[MigrationWorld]:
    found: dict[str, MigrationWorld] = {}
    for each in worlds:
        text = each.scenario.model_dump_json(exclude_defaults=True)
        found.setdefault(text, each)
    return iter(found.values())


PLAIN_RUN: Final = frozenset(("input", "continues"))


def fits_a_program(world: Scenario) -> bool:
    """Tell whether a world is one of such a corpus, after it was made smaller."""
    runs = world.runs
    if not runs or any(run.model_fields_set - PLAIN_RUN for run in runs):
        return False
    if not all(map(_is_said, runs)):
        return False
    if any(run.continues != bool(at) for at, run in enumerate(runs)):
        return False
    return bool(world.model_script) and all(map(_is_answer, world.model_script))


def _is_said(run: RunSpec) -> bool:
    """Tell whether a run is a turn in which a person says something."""
    said = [parse_message(each) for each in run.input]
    return len(said) == 1 and said[0].role == "user" and bool(said[0].content)


def _is_answer(entry: object) -> bool:
    if isinstance(entry, ModelFailure):
        return bool(entry.error)
    texts = entry.chunks if isinstance(entry, ModelChunks) else [str(entry)]
    if not texts:
        return False
    for text in texts:
        if parse_message(text).role != "assistant":
            return False
    ids = [c.id for text in texts for c in parse_message(text).tool_calls]
    return len(ids) == len(set(ids)) and all(ids)
