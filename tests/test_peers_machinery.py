"""Measuring other frameworks: the gate, the children, the numbers, what is told.

The frameworks here are made up (``tests.peers_fakes``); no test asserts a time.
"""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import measuring
from benchmarks.peers.child import admitted
from benchmarks.peers.measuring import (
    BARE,
    NOTHING,
    OURS,
    PEER,
    Lost,
    ask,
    attempts,
    costs,
    fails_at,
    failure_of,
    measure_peers,
    measured,
    set_ups,
    slope,
)
from benchmarks.peers.peer import (
    NAMES,
    PeerCounts,
    PeerPlan,
    UnknownPeerError,
    WorkNotDoneError,
    admit,
    peer_named,
    plan,
)
from compat.verdicts.cost import CostFailure
from tests import peers_fakes as fakes

TINY = PeerPlan(
    points=(0, 1, 2, 4),
    further=(),
    needed=2,
    series=3,
    rounds=3,
    sample=0.0,
    budget=0.0,
    memory=(1, 2),
    limit=60.0,
    deepest=8,
    bisect=True,
    probe=60.0,
)
BEYOND = replace(TINY, points=(0, 1, 2, 6))


@pytest.fixture(autouse=True)
def _children_find_the_fakes(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))


def gate(build, n=3):
    asyncio.run(admit(fakes.variant(build), n))


def test_gate_admits_a_framework_that_does_its_work():
    gate(fakes.works)


@pytest.mark.parametrize(
    ("build", "clause", "what"),
    [
        (fakes.skips_the_tool, "RUN-004", "called the tool 0 times, and not 1"),
        (fakes.skips_handlers, "ORD-002", "called the handlers 3 times, and not 6"),
        (fakes.answers_otherwise, None, "answered 'Something else.', and not 'It"),
        (fakes.skips_the_tool_the_second_time, "RUN-004", "run 2 with 3 handlers"),
    ],
)
def test_gate_refuses_a_run_that_ends_well_and_did_not_do_its_work(build, clause, what):
    with pytest.raises(WorkNotDoneError, match=what) as refused:
        gate(build)

    assert refused.value.clause == clause


def test_points_beyond_the_needed_ones_are_left_out_where_a_framework_fails():
    breaking = fakes.variant(fakes.raises)

    found = asyncio.run(admitted(breaking, replace(TINY, points=(0, 1, 4, 5))))

    assert list(found) == [0, 1, 4]


def test_further_points_are_taken_until_a_run_is_mostly_handlers(monkeypatch):
    took = iter((1.0, 1.0, 3.0, 1.0))

    async def once(work):
        return next(took)

    monkeypatch.setattr("benchmarks.peers.child.once", once)
    works = fakes.variant(fakes.works)

    found = asyncio.run(admitted(works, replace(TINY, further=(8, 16, 32))))

    assert list(found) == [0, 1, 2, 4, 8]


@pytest.mark.parametrize("breaks", [0, 1, 5, 19, 20])
def test_halving_finds_the_fewest_handlers_with_which_a_framework_fails(breaks):
    def attempt(n):
        how = "exception" if n < 20 else "silent"
        return CostFailure(n=n, how=how, what=f"at {n}") if n >= breaks else None

    found = fails_at(NOTHING, 20, attempt)

    assert found is not None
    assert (found.n, found.what) == (breaks, f"at {breaks}")


def test_one_try_at_the_deepest_number_is_enough_where_nothing_fails():
    tried = []

    assert fails_at(NOTHING, 2_000, tried.append) is None
    assert tried == [2_000]


@pytest.mark.parametrize(
    ("at", "how", "what"),
    [
        (0, "silent", "run 1 with 5 handlers called the tool 0 times, and not 1"),
        (1, "exception", "RecursionError: too deep"),
        (2, "killed", "was killed by SIGKILL"),
        (3, "killed", "left with exit code 7"),
    ],
)
def test_failure_is_found_in_processes_of_their_own_whatever_kind_it_is(at, how, what):
    found = failure_of("tests.peers_fakes:BREAKING", at, 3, replace(TINY, deepest=6))

    assert found == CostFailure(n=fakes.BREAKS, how=how, what=what)


def test_without_halving_a_failure_says_that_fewer_were_not_tried():
    found = failure_of("tests.peers_fakes:BREAKING", 1, 0, replace(TINY, bisect=False))

    assert found is not None
    assert found.n == TINY.deepest
    assert found.what.endswith("(fewer were not tried)")


def test_child_that_takes_too_long_is_ended_and_told():
    too_short = 0.001

    found = attempts("tests.peers_fakes:FINE", 0, too_short)(1)

    assert found is not None
    assert (found.how, found.n) == ("too slow", 1)


def test_what_a_framework_prints_is_no_part_of_a_reply():
    assert ask("tests.peers_fakes:PRINTS", {"do": "try", "at": 0, "n": 1}, 60) == {
        "how": None
    }


def test_child_has_tracing_switched_off(monkeypatch):
    seen = {}

    def start(command, **given):
        seen.update(given["env"], command=command)
        raise OSError("it is seen, and not started")

    monkeypatch.setattr("subprocess.Popen", start)
    with pytest.raises(OSError, match="not started"):
        ask("langchain", {"do": "list"}, 1)

    assert (seen["OTEL_SDK_DISABLED"], seen["LANGSMITH_TRACING"]) == ("true", "false")
    assert seen["command"][0] == sys.executable


def test_peer_that_is_not_installed_is_told_with_how_to_install_it():
    told = []

    found, absent = measured(["tests.peers_fakes:ABSENT"], TINY, told.append)

    assert found == ()
    assert [each.peer for each in absent] == ["tests.peers_fakes:ABSENT"]
    assert told[-1].startswith("tests.peers_fakes:ABSENT was not measured: ")
    assert "No module named 'fake'" in told[-1]
    assert "pip install 'agent-framework-core>=" in absent[0].why


def test_peer_whose_import_kills_its_process_is_told_as_absent():
    _, absent = measured(["tests.peers_fakes:DEADLY"], TINY, print)

    assert "was killed by SIGKILL" in absent[0].why


def test_peer_without_a_version_is_told_as_absent():
    _, absent = measured(["tests.peers_fakes:UNVERSIONED"], TINY, print)

    assert "no-such-distribution" in absent[0].why


def test_unknown_peer_is_refused_with_the_known_ones_before_anything_is_started(
    monkeypatch,
):
    monkeypatch.setattr(measuring, "ask", None)

    with pytest.raises(
        UnknownPeerError, match=r"no peer 'crewai' .* langchain, "
    ) as no:
        measure_peers(["langchain", "crewai"], quick=True, report=print)

    assert all(name in str(no.value) for name in NAMES)


def test_hook_that_does_not_do_its_work_has_no_numbers_and_the_others_have_theirs():
    told = []

    found, _ = measured(["tests.peers_fakes:MIXED"], BEYOND, told.append)

    works, skips = found
    assert works.blocked is None
    assert (works.fails, works.tried) == (None, TINY.deepest)
    assert [point.n for point in works.points] == [0, 1, 2, 6]
    # Not over_ours: it has a value where ours grows, and in so few rounds that is luck.
    assert None not in (works.base_over_bare, works.per_handler, works.memory)
    assert skips.blocked is not None
    assert (skips.blocked.clause, skips.base_seconds) == ("RUN-004", None)
    assert told[-1].startswith("tests.peers_fakes:MIXED, skips_the_tool has no numb")


def test_framework_that_kills_its_process_is_measured_with_as_many_as_it_holds():
    [found], _ = measured(["tests.peers_fakes:KILLED"], BEYOND, print)

    assert found.blocked is None
    assert [point.n for point in found.points] == [0, 1, 2]
    assert found.fails is not None
    assert (found.fails.how, found.fails.n) == ("killed", fakes.BREAKS)


def test_framework_that_cannot_even_run_alone_has_no_numbers_and_fails_at_none():
    [found], _ = measured(["tests.peers_fakes:DYING"], TINY, print)

    assert found.blocked is not None
    assert found.blocked.why == "the process that measured was killed by SIGKILL"
    assert found.fails is not None
    assert (found.fails.n, found.points) == (0, ())


def test_only_as_many_hooks_are_measured_as_the_plan_says():
    found, _ = measured(["tests.peers_fakes:MIXED"], replace(TINY, variants=1), print)

    assert [each.hook for each in found] == ["works"]


def test_slope_is_that_of_the_line_from_the_first_handler_on():
    jump = 50.0
    times = {
        n: [(1.0, 1.0, 100.0 + jump * (n > 0) + 0.25 * n)] for n in (0, 1, 10, 300)
    }

    assert slope(times, PEER) == pytest.approx(0.25)
    assert slope(times, BARE) == pytest.approx(0)


def test_costs_are_told_over_both_other_sides():
    one = [(n, [[2.0 + n, 4.0 + 2 * n, 20.0 + 10 * n]] * 3) for n in (0, 1, 10)]

    found = costs(set_ups(json.loads(json.dumps([one] * 3))))

    assert found["base_seconds"] == 20
    assert found["base_over_bare"].value == pytest.approx(10)
    assert found["base_over_ours"].value == pytest.approx(5)
    assert found["per_handler"].value == pytest.approx(10)
    assert found["over_bare"].value == pytest.approx(10)
    assert found["over_ours"].value == pytest.approx(5)
    assert [(p.n, p.bare_seconds) for p in found["points"]] == [
        (0, 2),
        (1, 3),
        (10, 12),
    ]


def test_nothing_is_said_over_a_side_whose_handlers_cost_nothing():
    one = [(n, [[2.0, 4.0 + 2 * n, 20.0 + 10 * n]] * 3) for n in (0, 1, 10)]

    found = costs(set_ups([one] * 3))

    assert found["over_bare"] is None
    assert found["over_ours"].value == pytest.approx(5)
    assert OURS not in (BARE, PEER)


@pytest.mark.parametrize("quick", [True, False])
def test_plan_survives_its_way_to_the_child(quick):
    sent = json.loads(json.dumps(plan(quick=quick).to_json()))

    assert PeerPlan.of(sent) == plan(quick=quick)


def test_every_peer_of_the_table_says_who_it_is_without_its_framework():
    for name in NAMES:
        assert peer_named(name).name == name


def test_lost_child_says_by_what_it_was_killed():
    lost = ask("tests.peers_fakes:DEADLY", {"do": "list"}, 60)

    assert lost == Lost("killed", "was killed by SIGKILL")
    assert PeerCounts() == PeerCounts(0, 0, 0)
