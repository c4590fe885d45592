"""Known failures of doors to the Flow dialect: their pinned worlds alone decide."""

import json
import os
from contextlib import closing, contextmanager

import pytest

from compat.dialects.flow.profile import flow_profile
from compat.engines.flow.reference import FlowDialect
from compat.verdicts.conformance import Breakdown, ClauseResult
from property_tests.dialects.dialect import Dialect
from property_tests.dialects.judging import (
    DialectRequest,
    dialect_child,
    dialect_judgement,
    loaded,
)
from property_tests.dialects.shrinking import Shrinker
from property_tests.flow.flow_dialect import FLOW
from property_tests.known.entries import KnownFailuresError
from property_tests.known.states import known_of
from refengine.postures import choosing

CLAUSES = ("FLOW-112", "FLOW-121")
SELF = "tests.test_flow_known:Selfish"
TO_ITSELF = {"calls": [{"name": "transfer_to_agent", "args": {"agent_name": "a"}}]}
CHILD = {"name": "b", "script": [{"text": "b"}]}
AGENT = {"name": "a", "script": [TO_ITSELF, {"text": "x"}], "sub_agents": [CHILD]}


def world(**changed):
    agent = {**AGENT, **changed}
    return {"subject": "flow", "agent": agent, "turns": [{"text": "hi"}]}


SELFISH = world()
PLAIN = world(script=[{"text": "x"}])
OF_ENGINES = {"agent": {}, "runs": [{"input": ["user:a"]}]}


class Selfish:
    """The reference, which lets an agent transfer to itself and does not say so."""

    name = "selfish"
    version = "1.2"
    profile = flow_profile("flow-safe")
    capabilities = FlowDialect.capabilities

    def open(self, world):
        changed = choosing(self.profile, "transfer_to_self", "allowed")
        return FlowDialect(changed).open(world)


class Leaving(Selfish):
    """As Selfish, but a world without state ends its process."""

    name = "leaving"

    def open(self, world):
        if not world.scenario.sessions["s"].state:
            os._exit(3)
        return super().open(world)


@pytest.fixture
def listed(tmp_path):
    """Return what writes a file with one entry, and says where it is."""

    def write(world=SELFISH, **changed):
        fields = {
            "clause": "FLOW-112",
            "engine": "selfish",
            "versions": ">=1,<2",
            "kind": "disagrees",
            "reason": "An agent may start over.",
            "issue": "https://example.org/issues/1",
            **changed,
        }
        lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
        text = "\n".join(
            ["[[failure]]", *lines, f"world = '''{json.dumps(world)}'''\n"]
        )
        path = tmp_path / "known.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def judged(known, *, clauses=CLAUSES, doors=(SELF,), examples=0):
    """Return the results by clause, what broke down, and the exit code."""
    chosen = tuple(FLOW.contract.clause(each) for each in clauses)
    request = DialectRequest(
        dialect=FLOW,
        doors=doors,
        clauses=chosen,
        examples=examples,
        jobs=1,
        known=known,
    )
    events = []
    footer = dialect_judgement(request).tell(events.append)
    results = {each.clause: each for each in events if isinstance(each, ClauseResult)}
    broken = [each.text for each in events if isinstance(each, Breakdown)]
    return results, broken, footer.exit_code


def test_a_failure_that_is_not_listed_is_not_conformant() -> None:
    results, broken, code = judged(None)

    assert (results["FLOW-112"].verdict, results["FLOW-112"].known) == ("fail", "")
    assert (broken, code) == ([], 1)


def test_a_listed_failure_is_known_with_its_reason_and_link(listed) -> None:
    results, broken, code = judged(listed())

    found = results["FLOW-112"]
    assert (found.known, found.known_reason) == ("known", "An agent may start over.")
    assert found.known_issue == "https://example.org/issues/1"
    assert (results["FLOW-121"].known, broken, code) == ("", [], 0)


def test_an_entry_whose_world_no_longer_fails_is_stale(listed) -> None:
    ghost = {"calls": [{"name": "transfer_to_agent", "args": {"agent_name": "c"}}]}
    holds = world(script=[ghost])

    for each, why in (
        (holds, "its world no longer fails"),
        (PLAIN, "this world no longer lets the check of FLOW-112 decide"),
    ):
        found, _, code = judged(listed(each))

        assert (found["FLOW-112"].known, code) == ("stale", 1)
        assert found["FLOW-112"].known_reason == why


def test_a_clause_that_differs_behind_another_holds_by_its_other_worlds() -> None:
    results, _, _ = judged(None, clauses=["FLOW-075", "FLOW-112"])

    assert results["FLOW-112"].verdict == "fail"
    assert results["FLOW-075"].verdict == "pass"
    assert results["FLOW-075"].worlds == 122


def test_a_stale_entry_of_a_clause_that_holds_is_told_by_the_exit_code(listed) -> None:
    results, _, code = judged(listed(PLAIN, clause="FLOW-121"), clauses=["FLOW-121"])

    assert (results["FLOW-121"].verdict, results["FLOW-121"].known) == ("pass", "stale")
    assert code == 5


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"engine": "other"}, "engines judged are selfish"),
        ({"versions": "<1"}, "'<1' does not cover version '1.2'"),
        ({"clause": "ORD-001"}, "ORD-001"),
    ],
)
def test_an_entry_about_nothing_that_was_judged_is_told(listed, changed, why) -> None:
    results, [broken], code = judged(listed(**changed), clauses=["FLOW-121"])

    assert "matches nothing" in broken
    assert why in broken
    assert (results["FLOW-121"].verdict, code) == ("pass", 5)


def test_a_world_of_engines_pins_nothing_of_a_dialect(listed) -> None:
    _, [broken], _ = judged(listed(OF_ENGINES))

    assert "its world cannot be judged: it is not a world of flow" in broken


def test_a_world_that_is_none_of_the_dialect_is_told_before_all_the_work(
    listed,
) -> None:
    with pytest.raises(
        KnownFailuresError, match="not a world of flow: turnz: Extra inputs"
    ):
        judged(listed({**SELFISH, "turnz": []}))


def test_what_is_known_of_google_adk_is_read_with_its_door() -> None:
    entries = known_of("google-adk").entries

    assert {each.clause for each in entries} == {"FLOW-120", "FLOW-121"}
    assert {each.engine for each in entries} == {"google-adk"}


def test_google_adk_is_conformant_with_what_is_known_of_it() -> None:
    pytest.importorskip("google.adk", reason="pip install 'refengine[adk]'")

    results, broken, code = judged(None, clauses=["FLOW-120"], doors=("google-adk",))

    assert results["FLOW-120"].known == "known"
    assert (broken, code) == ([], 0)


def test_examples_that_a_dialect_does_not_draw_are_told(monkeypatch) -> None:
    monkeypatch.setattr(Dialect, "drawn", lambda *_: iter(()))
    chosen = (FLOW.contract.clause("FLOW-121"),)
    request = DialectRequest(dialect=FLOW, doors=(SELF,), clauses=chosen, jobs=1)
    events = []
    dialect_judgement(request).tell(events.append)

    told = "none of 400 worlds was drawn: this dialect has fixed cases alone"
    assert events[0].told == (told,)


def test_a_smaller_world_that_ends_the_process_does_not_cost_the_failure() -> None:
    world = {**SELFISH, "sessions": {"s": {"state": {"k": 1}}}}
    request = DialectRequest(dialect=FLOW, doors=(), clauses=FLOW.contract.checked)
    shrinker = Shrinker(
        FLOW, lambda: loaded_child(request, "tests.test_flow_known:Leaving"), 30.0
    )
    with closing(shrinker):
        found = shrinker.smallest("FLOW-112", FLOW.read(world))

    assert found is not None
    assert "2 smaller worlds broke off, the first as the process" in found.asked
    assert found.scenario is not None
    assert found.scenario["sessions"] == {"s": {"state": {"k": 1}}}


@contextmanager
def loaded_child(request, text):
    """Yield a child that has loaded a door."""
    with dialect_child(request, text) as child:
        loaded(child, text)
        yield child
