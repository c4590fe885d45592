"""The real AI SDK behind its driver: the same traces as the reference has."""

import subprocess
from pathlib import Path

import pytest

from compat.drivers.installed import node_driver
from compat.drivers.node_building import TSC
from compat.engines.capabilities import CAPABILITIES, refusal_of
from compat.engines.loading import load_engine
from compat.profiles.comparing import unconfirmed
from compat.profiles.confirming import Seen, confirmed, projected
from refengine.profile import differences, options, profile
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace
from tests.node_support import needs_node

pytestmark = [needs_node, pytest.mark.usefixtures("driver_traffic")]


def world(**more: object) -> dict[str, object]:
    def handler(number: int) -> dict[str, object]:
        append = {"op": "append", "msg": f"user:m{number}"}
        wrap = {"record": f"H{number}"}
        return {"id": f"H{number}", "before_model": [append], "wrap_model": wrap}

    tool = {"name": "t", "result": "of <args>"}
    handlers = [handler(1), handler(2)]
    agent = {"name": "A", "instruction": "B", "tools": [tool], "handlers": handlers}
    return {
        "agent": {**agent, **more},
        "model_script": ['assistant:look[1:t({"a": 1})]', "assistant:done"],
        "runs": [{"input": ["user:hi"]}],
    }


def seen(trace: Trace, *, events: bool) -> list[dict[str, object]]:
    """Return the events, which the SDK tells when a step is over, or all else."""
    numbers: dict[str, str] = {}
    entries = [each for each in trace if (each.kind == "event") == events]
    return [{**each.canonical(numbers), "seq": 0} for each in entries]


VERSIONS = pytest.mark.parametrize("version", ["4", "5", "6", "7"])


@VERSIONS
def test_it_does_as_the_reference_does_under_its_profile(
    version: str, driver_traffic: set[tuple[str, str]]
) -> None:
    scenario = read_scenario(world())
    theirs = run(play(scenario, load_engine(f"ai-sdk@{version}").engine))
    ours = run(play(scenario, ReferenceEngine(profile(f"ai-sdk-{version}"))))

    for events in (False, True):
        assert seen(theirs, events=events) == seen(ours, events=events)
    assert len(list(ours)) > 20
    assert {name for _, name in driver_traffic} >= {"build", "hook", "next", "tool"}


@pytest.mark.parametrize(
    ("version", "undeclared"), [("4", 34), ("5", 33), ("6", 33), ("7", 32)]
)
def test_what_is_built_is_what_the_name_says(version: str, undeclared: int) -> None:
    engine = load_engine(f"ai-sdk@{version}")

    assert engine.version.split(".")[0] == version
    assert engine.profile.name == f"ai-sdk-{version}"
    assert not engine.assumed
    # what is not declared is skipped: it is pinned
    assert len(set(CAPABILITIES) - engine.capabilities) == undeclared


def apart(trace: Trace) -> Seen:
    """Return the events, which the SDK tells when a step is over, behind all else."""
    return sorted(projected(trace), key=lambda each: each["kind"] == "event")


@pytest.mark.parametrize(("version", "undeclared"), [("6", 24), ("7", 24)])
def test_each_posture_is_confirmed_by_a_run_or_listed_with_a_reason(
    version: str, undeclared: int
) -> None:
    engine, under = (
        load_engine(f"ai-sdk@{version}").engine,
        profile(f"ai-sdk-{version}"),
    )
    found = [confirmed(engine, under, each, apart) for each in options()]
    shown = {each.posture: each for each in found if each.ran}
    listed = unconfirmed()[under.name]

    assert len(found) - len(shown) == undeclared
    assert {name for name, each in shown.items() if each.divergence} == set(listed)
    answered = {"failing_call"}  # no call fails where what its tool raises is answered
    for name in set(shown) - set(listed) - answered:
        others = set(options()[name]) - {shown[name].value}
        assert set(shown[name].told_from) == others


def test_where_the_newer_versions_part_is_pinned() -> None:
    steps = ("5", "6"), ("6", "7")
    changed = [
        [name for name, *_ in differences(*(profile(f"ai-sdk-{n}") for n in both))]
        for both in steps
    ]

    assert changed == [["unanswered_calls"], ["before_model_edits"]]


def test_what_the_sdk_has_no_place_for_is_declined() -> None:
    more = {"handlers": [{"id": "H", "after_model": [{"op": "record"}]}]}
    trace = run(play(read_scenario(world(**more)), load_engine("ai-sdk@5").engine))

    assert "does not declare 'after_model'" in (refusal_of(trace) or "")


@VERSIONS
def test_its_types_are_right(version: str) -> None:
    node, program = node_driver(f"ai-sdk@{version}").command()
    told = subprocess.run(
        [node, TSC, "-p", ".", "--noEmit"],
        cwd=Path(program).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.stdout == ""
