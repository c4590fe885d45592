"""Runs that are longer than a limit: who loses the limit is told by these alone."""

from itertools import takewhile
from pathlib import Path

import pytest

from compat.migration.programs.worlds import program_corpus
from refengine.testing.notation import parse_message
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.declared import DeclaredTool
from refengine.testing.subject_worlds.unusual import Spoken, unusual
from refengine.testing.subject_worlds.words import Words
from refengine.testing.subject_worlds.worlds import rounds
from tests.judging_support import judged_in, of_family

GUARD = """
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

def subject(world):
    ran = []
    def invokable(inner):
        async def call(ctx, input):
            ran.append(input.name)
            if LIMIT:
                return ToolCallResult("no more")
            return await inner(ctx, input)
        return call
    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, None))]
"""


@pytest.mark.parametrize(
    ("limit", "holds"),
    [("len(ran) > 4", True), ("not len(ran) <= 4", True), ("False", False)],
)
def test_limit_that_is_lost_is_found(tmp_path: Path, limit: str, holds: bool) -> None:
    old, new = (GUARD.replace("LIMIT", each) for each in ("len(ran) > 4", limit))

    found = judged_in(of_family("long runs"), tmp_path, old, new)

    assert found.fault is None
    assert found.sufficient == holds


def test_model_calls_once_more_than_each_small_number() -> None:
    worlds = [*rounds(Words(numbers=(900, 4, 1, 3)))]
    asked = [sum(map(_calls, each["model_script"])) for each in worlds]

    assert asked == [4, 5]
    assert {unusual(read_scenario(each, "t"), Spoken()) for each in worlds} == {None}


def test_program_is_asked_beyond_the_limits_of_frameworks() -> None:
    tools = [DeclaredTool("look", "", {"type": "object", "properties": {}})]
    corpus = program_corpus(Words(), tools, 1, 0, costly=False)
    scripts = [each.scenario.model_script for each in corpus.worlds]
    in_a_row = {len([*takewhile(_calls, script)]) for script in scripts}

    assert {6, 12, 27} <= in_a_row


def _calls(entry: object) -> bool:
    return isinstance(entry, str) and bool(parse_message(entry).tool_calls)
