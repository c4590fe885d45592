"""Later turns whose caller hands nothing on, and who keeps no thread knows nothing."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

from compat.migration.corpus import MigrationWorld
from refengine.testing import World
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subjects import play_alone
from tests.judging_support import judged_in

GRAPH = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

def subject(world):
    lc = world.as_langchain()
    return create_react_agent(lc.model, lc.tools{keeps})
"""
KEEPS = GRAPH.format(keeps=", checkpointer=InMemorySaver()")
FORGETS = GRAPH.format(keeps="")


def requests(saver: Any, continues: object) -> list[int]:
    """Return how many messages each request of two turns has."""

    def build(world: World) -> object:
        face = world.as_langchain()
        return create_react_agent(face.model, face.tools, checkpointer=saver)

    runs = [{"input": ["user:a"]}, {"input": ["user:b"], "continues": continues}]
    data = {"agent": {}, "model_script": ["assistant:1", "assistant:2"], "runs": runs}
    trace: Any = play_alone(read_scenario(data, "here"), build).trace
    return [len(each.data["messages"]) for each in trace.of("model_request")]


@pytest.mark.parametrize(
    ("keeps", "continues", "seen"),
    [
        (False, True, [1, 3]),
        (False, "thread", [1, 1]),
        (True, True, [1, 3]),
        (True, "thread", [1, 3]),
    ],
)
def test_what_no_thread_keeps_is_handed_on_or_lost(
    keeps: bool, continues: object, seen: list[int]
) -> None:
    assert requests(InMemorySaver() if keeps else None, continues) == seen


def of_two_turns(worlds: Sequence[MigrationWorld]) -> Iterable[MigrationWorld]:
    """Yield a few worlds with later turns."""
    some = [e for e in worlds if any(run.continues for run in e.scenario.runs)]
    return some[:3]


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [(KEEPS, FORGETS, False), (FORGETS, KEEPS, True), (KEEPS, KEEPS, True)],
    ids=["lost", "added", "kept"],
)
def test_a_checkpointer_that_is_lost_diverges_and_one_that_is_added_does_not(
    tmp_path: Path, old: str, new: str, holds: bool
) -> None:
    verdict = judged_in(of_two_turns, tmp_path, old, new)

    assert verdict.fault is None
    assert verdict.sufficient == holds
