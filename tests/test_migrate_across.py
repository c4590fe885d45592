"""Migrations from LangChain to pydantic-ai, judged on the installed packages."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from pydantic_ai import Agent

from compat.migration.check import corpus_of
from compat.migration.codes import name as name_of
from compat.migration.corpus import ACROSS, POINTS
from compat.migration.differences import GRAPHS, Mask, TraceChannels
from compat.migration.folder import Piece, pieces_in
from compat.migration.pairs import SeenPair
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.relations import channels_of
from refengine.testing.channels import UNKEPT
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.across import across, fits_across
from refengine.testing.subject_worlds.graph_worlds import fits_both
from refengine.testing.subject_worlds.named_values import graph_words
from refengine.testing.subjects import Subject, play_alone
from refengine.testing.world import World

PACK = Path(__file__).parents[1] / "examples" / "between_frameworks"


def chain(world: World) -> object:
    lc: Any = world.as_langchain()
    return create_agent(lc.model, lc.tools, system_prompt=lc.system_prompt)


def agent(world: World) -> Agent[Any, Any]:
    face = world.as_pydantic_ai()
    return Agent(face.model, tools=face.tools, instructions=face.instructions)


LOOK = {"name": "look", "result": "<args>"}
FAILING = {"name": "look", "error": "TimeoutError"}
TEXT = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
CALLED = 'assistant:[c1:look({"q": "a"})]'
BOTH = "assistant:[c1:look({})][c2:other({})]"
HISTORY = [
    "user:a",
    "assistant:[p1:look({})][p2:look({})]",
    "tool(p2):r",
    "tool(p1):r",
    "user:b",
]


def world(
    *script: object, tools: Any = (LOOK,), run: Any = (), **spec: Any
) -> dict[str, Any]:
    return {
        "agent": {**({"tools": [*tools]} if tools else {}), **spec},
        "model_script": [*script],
        "runs": [{"input": ["user:hi"], **dict(run)}],
    }


OWN = {
    "a tool that is not there": world("assistant:[c1:gone({})]", "assistant:ok"),
    "arguments that a schema refuses": world(
        'assistant:[c1:look({"q": 1})]',
        "assistant:ok",
        tools=[LOOK | {"parameters": TEXT}],
    ),
    "an answer of nothing": world("assistant:", "assistant:ok"),
    "a streamed answer of nothing": world(
        {"chunks": ["assistant:"]}, "assistant:ok", run={"streaming": True}
    ),
    "a call beside one that fails": world(BOTH, tools=[FAILING, {"name": "other"}])
    | {"way": "sync"},
    "results in another order": world("assistant:ok", run={"input": HISTORY}),
    "space around an instruction": world("assistant:ok", instruction="Be brief.\n"),
    "a blank instruction": world("assistant:ok", instruction=" "),
    "a limit of the caller's": world(CALLED, CALLED, "assistant:ok", run={"steps": 2}),
    "a tool that returns directly": world(
        CALLED, "assistant:ok", return_directly={"look": True}
    ),
    "arguments in other spaces": world(
        'assistant:[c1:look({"q":"a"})]', "assistant:ok"
    ),
    "nothing said": world("assistant:ok", run={"input": []}),
    "a call in a stream that breaks off": world(
        {"chunks": ["assistant:ok", CALLED], "stream_error": "cut off"},
        run={"streaming": True},
    ),
}


def code_in(
    scenario: Scenario, old: Subject, new: Subject, relation: str, *masks: Mask
) -> str | None:
    """Return the code by which two subjects differ in a world, None if they do not."""
    before = play_alone(scenario, old)
    after = play_alone(scenario, new, ways=[before.way or "async"])
    sides = (TraceChannels(each.trace.to_jsonl()) for each in (before, after))
    found = SeenPair(*sides, channels_of(relation), (*GRAPHS, *masks)).divergence
    return found and found.code


def told(data: Any) -> str | None:
    """Return the code by which two agents that add nothing differ in a world."""
    return code_in(read_scenario(data), chain, agent, "identical")


@pytest.mark.parametrize("name", OWN)
def test_what_two_frameworks_do_otherwise_by_themselves_is_kept_out(name: str) -> None:
    made = across(OWN[name])

    assert told(OWN[name]) is not None
    assert told(made) is None
    assert not fits_across(read_scenario(OWN[name]))
    assert fits_across(read_scenario(made))
    assert across(made) == made


ALIKE = {
    "calls": world(BOTH, "assistant:ok", tools=[LOOK, {"name": "other"}]),
    "a plain run": world(CALLED, "assistant:ok") | {"way": "sync"},
    "a stream": world(
        {"chunks": ["assistant:so ", "assistant:far"]}, run={"streaming": True}
    ),
    "a stream that breaks": world(
        {"chunks": ["assistant:so far"], "stream_error": "cut off"},
        run={"streaming": True},
    ),
    "a stream that breaks at once": world({"error": "boom"}, run={"streaming": True}),
    "a model that fails": world({"error": "TimeoutError"}),
    "a tool that fails": world(CALLED, tools=[FAILING]),
    "a history": world(
        "assistant:ok", run={"input": ["user:a", "assistant:b", "user:c"]}
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_both_frameworks_do_is_put_down_alike(name: str) -> None:
    assert across(ALIKE[name]) == ALIKE[name]
    assert told(ALIKE[name]) is None


def test_worlds_are_for_both_where_sources_ask_for_both_faces() -> None:
    lc, pai = "world.as_langchain()", "world.as_pydantic_ai()"
    found = {each: graph_words(each).across for each in ((lc,), (pai,), (lc, pai))}

    assert found == {(lc,): False, (pai,): False, (lc, pai): True}
    assert fits_both(graph_words([lc])) is None


def subject_of(file: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """Return the subject of a file, whose module is there while the test runs."""
    name = f"{file.parent.name}_{file.stem}"
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module.subject


AT_POINTS = {"model_retry/wrong_handler.py": "ERROR_NEW"}
"""What a world of points shows first of a port that other worlds show otherwise: its
first run fails in NEW alone, and in most worlds of the pack both fail."""


@pytest.mark.parametrize("piece", pieces_in(PACK), ids=lambda each: each.name)
def test_points_tell_the_wrong_ports_of_the_pack_and_accuse_no_right_one(
    piece: Piece, monkeypatch
) -> None:
    old = subject_of(piece.folder / "old.py", monkeypatch)
    for name, case in piece.settings.cases.items():
        new = subject_of(piece.folder / name, monkeypatch)
        corpus = corpus_of([piece.old, piece.ref(name)], CheckOptions(examples=1))
        masks = [Mask(*each) for each in corpus.uncompared]
        worlds = [each.scenario for each in corpus.worlds if each.family == POINTS]
        found = {code_in(each, old, new, "same-effects", *masks) for each in worlds}

        shown = AT_POINTS.get(f"{piece.name}/{name}", case.diverges)
        assert (shown in found) if shown else found == {None}, name


def order_status(order_id: int, notes: str = "") -> dict[str, Any]:
    """Tell how far an order is."""
    return {"order": order_id, "notes": notes}


def test_own_tool_is_not_another_one_because_a_framework_closes_its_schema() -> None:
    def chained(world: World) -> object:
        lc: Any = world.as_langchain()
        return create_agent(lc.model, [tool(order_status)])

    def agent_with(own: Any) -> Subject:
        return lambda world: Agent(world.as_pydantic_ai().model, tools=[own])

    def order_status_by_text(order_id: str) -> None:
        """Tell how far an order is."""

    order_status_by_text.__name__ = "order_status"
    asked = read_scenario(
        world('assistant:[c1:order_status({"order_id": 7})]', "assistant:ok", tools=())
    )
    masks = [Mask(*each) for each in ACROSS]

    def code(own: Any, *masks: Mask) -> str | None:
        return code_in(asked, chained, agent_with(own), "same-effects", *masks)

    assert code(order_status) == "TOOLS_MERGE"
    assert code(order_status, *masks) is None
    assert code(order_status_by_text, *masks) == "TOOLS_MERGE"


@pytest.mark.parametrize("values", [{"integer": 2.5}, {"unfit": "type"}])
def test_no_search_gives_an_own_tool_what_frameworks_refuse_otherwise(
    values: dict[str, Any],
) -> None:
    def asked(more: dict[str, Any]) -> dict[str, Any]:
        given = json.dumps({"integer": 2, "string": "a"} | more)
        return world(f"assistant:a[c1:<own 0>({given})]", "assistant:ok", tools=())

    assert fits_across(read_scenario(asked({})))
    assert not fits_across(read_scenario(asked(values)))


@pytest.mark.parametrize("given", [{"a": [1, None]}, [1, {"b": 2}], 3, True, "text"])
def test_result_that_is_no_text_is_told_to_a_model_alike(given: object) -> None:
    def look() -> Any:
        """Look it up."""
        return given

    asked = read_scenario(world("assistant:[c1:look({})]", "assistant:ok", tools=()))
    masks = [Mask(*each) for each in ACROSS]

    assert None is code_in(
        asked,
        lambda world: create_agent(world.as_langchain().model, [tool(look)]),
        lambda world: Agent(world.as_pydantic_ai().model, tools=[look]),
        "same-effects",
        *masks,
    )


def test_keys_of_a_state_are_compared_with_nothing() -> None:
    """An agent of pydantic-ai has none; between two graphs a lost key is told."""
    piece = next(each for each in pieces_in(PACK) if each.name == "call_budget")
    both = corpus_of([piece.old, piece.ref("right.py")], CheckOptions(examples=1))
    one = corpus_of([piece.old, piece.old], CheckOptions(examples=1))

    assert both.uncompared == ACROSS
    assert not one.uncompared


@pytest.mark.parametrize("kept_by_old", [False, True])
def test_a_run_that_only_one_side_keeps_is_named_where_nothing_else_differs(
    kept_by_old: bool,
) -> None:
    """What is not kept was looked up in the other side, and ended a judgement."""
    kept = {"run": 1, "calls_without_result": {}}
    sides = [kept, {**kept, UNKEPT: True}]

    code, *_ = name_of("pairing", *(sides if kept_by_old else sides[::-1]))

    assert code == "PAIRING"
