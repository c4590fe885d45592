"""The loop and the sessions in TypeScript, and where their sketches fail."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compat.cli.init import driver_files
from compat.drivers.checking import check_driver
from compat.drivers.connection import KeptDriver
from compat.drivers.loops import typescript_loop
from compat.drivers.node_building import OWN_PACKAGES, TSC, NodeDriver
from compat.drivers.remote import DriverDialectError, opened
from compat.engines.dialect_loading import load_dialect_engine
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.reference import StreamLoop
from compat.engines.stream_loop.scenario import LoopScenario
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.dialects import dialect_named
from refengine.testing.trace import first_divergence
from tests.node_support import needs_node
from tests.test_drivers import driver
from tools.pages.sketches import PAGE, written

pytestmark = pytest.mark.usefixtures("driver_traffic")

FOLDERS = {"stream-loop": "loop", "callbacks": "callbacks"}
ENGINES = {"stream-loop": "typescript-loop", "callbacks": "typescript-callbacks"}


def command(folder: str, entry: str = "driver") -> list[str]:
    made = NodeDriver(f"typescript-{folder}", folder, OWN_PACKAGES, entry)
    return list(made.command())


@needs_node
@pytest.mark.parametrize("dialect", ENGINES)
def test_it_keeps_every_clause_in_the_fixed_worlds(
    dialect: str, driver_traffic: set[tuple[str, str]]
) -> None:
    family = dialect_named(dialect)
    door = family.load(ENGINES[dialect], None)
    decider = WorldDecider(family, door, family.checks)
    decided: set[str] = set()
    failed: dict[str, object] = {}

    for world in family.fixed():
        found = decider.judge(world.scenario)
        decided.update(found.decided)
        failed |= found.failed

    assert failed == {}
    assert decided == set(decider.applying)
    seen = {name for _, name in driver_traffic}
    assert seen >= {"build", "run", "model", "tool", "callback", "cancel", "abandon"}


@needs_node
def test_the_loop_tells_what_the_reference_tells() -> None:
    said: dict[str, Any] = {
        "instruction": "Be brief.",
        "tools": [
            {"name": "f", "outcomes": [{"result": {"k": [1, None]}, "follow_up": True}]}
        ],
        "script": [
            [
                {"text": "so "},
                {"calls": [{"index": 0, "name": "f", "arguments": '{"a":'}]},
                {"calls": [{"index": 0, "arguments": "1}"}], "text": "it is"},
            ],
            [{"text": "done"}],
        ],
        "turns": [{"input": "hi"}, {"input": "Ünï", "continues": True}],
    }
    scenario = LoopScenario.model_validate(said, strict=False)

    theirs = play_loop(scenario, typescript_loop())
    ours = play_loop(scenario, StreamLoop())

    assert first_divergence(ours, theirs) is None
    assert len(ours) > 60


WRITES = """
import process from "node:process";
import { pathToFileURL } from "node:url";

const { Peer } = await import(pathToFileURL(process.argv[1]));
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text) => write(`${text.split("\\n").length - 1} `);
await new Peer({ say: ({ text }) => text, hush: () => {} }).serve();
"""


@needs_node
def test_what_answers_frames_that_came_together_goes_out_together() -> None:
    """Or it would be luck whether one answer is heard before the other is there."""
    node, program = command("loop")
    say: dict[str, Any] = {"jsonrpc": "2.0", "method": "say", "params": {"text": "a"}}
    frames = [{**say, "id": 1}, {**say, "method": "hush"}, {**say, "id": 2}]

    done = subprocess.run(
        [
            node,
            "--input-type=module",
            "-e",
            WRITES,
            str(Path(program).parents[1] / "peer/peer.js"),
        ],
        input="".join(f"{json.dumps(each)}\n" for each in frames),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "2 "


@needs_node
@pytest.mark.parametrize("folder", FOLDERS.values())
def test_each_function_of_it_passes_the_check(folder: str) -> None:
    found = list(check_driver(command(folder), patience=10))

    assert {each.found for each in found} == {"ok"}
    assert len(found) > 12


@needs_node
@pytest.mark.parametrize("folder", FOLDERS.values())
def test_its_types_are_right(folder: str) -> None:
    node, program = command(folder)
    told = subprocess.run(
        [node, TSC, "-p", ".", "--noEmit"],
        cwd=Path(program).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.stdout == ""


@needs_node
def test_the_sketches_fail_where_the_page_says() -> None:
    page = PAGE.read_text("utf-8")

    assert written(page) == page


@needs_node
def test_a_door_is_judged_under_the_profile_that_is_asked_for() -> None:
    text = f"cmd:{' '.join(command('loop', 'sketch_driver'))}"

    own, asked = (
        load_dialect_engine(text, each, method="process", why="", known=KNOWN)
        for each in (None, "loop-safe")
    )

    assert (own.profile.name, asked.profile.name) == ("loop-adr", "loop-safe")


KNOWN = StreamLoop.capabilities


def test_a_dialect_that_there_is_not_is_named(tmp_path: Path) -> None:
    source = driver_files("python")["driver.py"].replace(
        '"dialect": "react"', '"dialect": "waltz"'
    )
    kept = KeptDriver(lambda: driver(tmp_path, source))

    with pytest.raises(DriverDialectError, match="'waltz': there are only react"):
        opened("mine", kept)
