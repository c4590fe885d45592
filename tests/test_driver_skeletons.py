"""Drivers that ``refengine init driver`` writes: each plays as the reference does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from compat.cli.init import DRIVERS
from compat.drivers.building import find_go
from compat.drivers.checking import check_driver
from compat.drivers.installed import node_driver
from compat.drivers.node_building import TSC
from compat.drivers.remote import RemoteEngine
from refengine.profile import SEED_001
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import first_divergence
from tests.commands import refengine
from tests.node_support import needs_node

needs_go = pytest.mark.skipif(
    shutil.which("go") is None, reason="without Go no driver in Go is built"
)


def built_with_go(folder: Path) -> list[str]:
    command = [find_go("mine"), "build", "-C", str(folder), "-o", "driver"]
    subprocess.run(command, check=True)
    return [str(folder / "driver")]


def built_with_tsc(folder: Path) -> list[str]:
    """Compile with the packages of a driver that is built anyway, and look at types."""
    node, program = node_driver("langchain-js@1").command()
    packages = Path(program).parents[2] / "node_modules"
    (folder / "node_modules").symlink_to(packages)
    compiler = str(packages.parent / TSC)
    told = subprocess.run(
        [node, compiler, "-p", str(folder)], capture_output=True, text=True, check=False
    )
    assert told.stdout == ""
    return [node, str(folder / "driver.js")]


pytestmark = pytest.mark.usefixtures("driver_traffic")
HANDLER = {
    "before_model": [{"op": "append", "msg": "user:more"}],
    "wrap_invokable": {"prefix_result": "1>"},
}
WORLD = {
    "agent": {
        "instruction": "B",
        "tools": [{"name": "t", "result": "<u+dc80>"}],
        "handlers": [{"id": "H", **HANDLER}, {"id": "I", **HANDLER}],
    },
    "model_script": ["assistant:[1:t({})]", "assistant:done"],
    "runs": [{"input": ["user:hi"]}],
}


@pytest.mark.parametrize(
    ("language", "build"),
    [
        pytest.param("go", built_with_go, marks=needs_go),
        pytest.param("typescript", built_with_tsc, marks=needs_node),
    ],
)
def test_a_driver_that_init_writes_passes_and_does_as_the_reference_does(
    tmp_path: Path, language: str, build
) -> None:
    done = refengine("init", "driver", "mine", "--language", language, at=tmp_path)
    command = build(tmp_path / "mine")

    found = list(check_driver(command, patience=10))
    scenario = read_scenario(WORLD)
    theirs = run(play(scenario, RemoteEngine("mine", lambda: command)))
    ours = run(play(scenario, ReferenceEngine(SEED_001)))

    assert DRIVERS[language].build.format(folder="mine") in done.stdout
    assert [each for each in found if each.found == "FAILED"] == []
    assert sum(each.found == "ok" for each in found) == 12
    assert first_divergence(theirs, ours) is None
