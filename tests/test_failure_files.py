"""Failure files: written from a judgement, read, listed, played again."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from compat.cli.failure import (
    OtherEngineError,
    OtherProfileError,
    code_of,
    lines,
    replayed_on,
)
from compat.verdicts.conformance import (
    ClauseFailure,
    ClauseResult,
    EngineInfo,
    StreamHeader,
)
from property_tests.checks import CHECKS
from property_tests.failures import (
    FailureFile,
    FailureFileError,
    OpenedDoor,
    ReplayedWorld,
    by_worker,
    failure_files,
    here,
    read_failure,
    replayed,
    write_failure,
    write_failures,
)
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from property_tests.recorded.worlds import recorded_worlds
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine
from tests import commands
from tests.backwards import Backwards, placed
from tests.few_worlds import judging_in

WORLD = {
    "agent": {"handlers": [{"before_model": []}, {"before_model": []}]},
    "runs": [{"input": ["user:a"]}],
}
NO_HOOKS = {"agent": {}, "runs": [{"input": ["user:a"]}]}
ORD = [each for each in CHECKS if each.clause == "ORD-001"]


def failure_file(**changed):
    fields = {
        "engine": "mine",
        "clause": "ORD-001",
        "profile": "seed-001",
        "corpus": "0a",
        "variant": "played",
        "asked": "hooks in list order",
        "expected": ["a", 1],
        "got": None,
        "scenario": WORLD,
        **changed,
    }
    return FailureFile(**fields)


def result(engine, clause="ORD-001", *, failure=True):
    found = ClauseFailure(
        variant="played", asked="order", expected=["a"], got=["b"], scenario=WORLD
    )
    return ClauseResult(
        engine=engine,
        clause=clause,
        level="MUST",
        verdict="fail" if failure else "pass",
        failure=found if failure else None,
    )


def events(*results):
    names = dict.fromkeys(each.engine for each in results)
    return [
        StreamHeader(contract="0.1", corpus="0a1b", seed=0, worlds=1, fixed=1,
               engines=tuple(names), selected=()),
        *(EngineInfo(engine=each, profile="eino-0.8") for each in names),
        *results,
    ]  # fmt: skip


class FakeWorker:
    """Answers as a worker would that has this engine; plays nothing."""

    def __init__(self, name="mine", profile="seed-001", **reply):
        self.name = name
        self.profile = profile
        self.reply = reply
        self.asked = []

    def one(self, request):
        self.asked.append(request)
        if request["op"] == "load":
            return {"name": self.name, "profile": self.profile}
        return self.reply


def opened(worker):
    return OpenedDoor(worker.one({"op": "load"}), by_worker(worker))


def shown(found):
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as captured:
        for line in lines(failure_file(), found):
            console.print(line)
    return captured.get()


# --- the files


def test_each_failure_of_a_judgement_becomes_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    found = [result("mine"), result("mine", "ORD-002", failure=False), result("other")]

    paths = write_failures(folder, events(*found))

    assert [each.name for each in paths] == ["mine-ORD-001.json", "other-ORD-001.json"]
    assert read_failure(paths[0]) == failure_file(
        profile="eino-0.8", corpus="0a1b", asked="order", expected=["a"], got=["b"]
    )


def test_a_file_is_written_anew_and_others_are_left_alone(tmp_path: Path) -> None:
    for asked in ("once", "twice"):
        write_failure(tmp_path, failure_file(asked=asked))
    write_failure(tmp_path, failure_file(engine="other"))

    [mine, _] = failure_files(tmp_path)
    assert read_failure(mine).asked == "twice"


def test_engines_whose_names_are_no_file_names_have_files_of_their_own() -> None:
    names = {failure_file(engine=each).name for each in ("a:b", "a/b", "a-b", "../a")}

    assert len(names) == 4
    assert "a-b-ORD-001.json" in names
    assert not any("/" in each or each.startswith(".") for each in names)


def test_any_value_survives_the_file(tmp_path: Path) -> None:
    found = failure_file(expected={"é\ud800": [1, 1.0, True]}, got="\x00\u2028")

    again = read_failure(write_failure(tmp_path, found))

    assert again == found
    values: Any = again.expected
    assert [type(each) for each in values["é\ud800"]] == [int, float, bool]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a failure file: it holds no object"),
        ('{"got": NaN}', "is not JSON: NaN is not a number of JSON"),
        ({"factory": "os:system"}, "factory: there is no such key; there are version"),
        ({"version": 2}, "version 2 is unknown; this reads version 1"),
        ({"engine": 1}, "engine: Input should be a valid string"),
        ({"scenario": {"agent": []}}, "scenario: it is not a scenario: agent = []"),
        ({"scenario": None}, "scenario: Input should be a valid dictionary"),
    ],
)
def test_what_is_no_failure_file_is_told_with_its_place(tmp_path, text, said) -> None:
    path = tmp_path / "x.json"
    if isinstance(text, dict):
        text = json.dumps({**failure_file().model_dump(), **text})
    path.write_text(text, "utf-8")

    with pytest.raises(FailureFileError) as caught:
        read_failure(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


# --- played again


def test_failure_that_is_there_still_is_told_with_both_values() -> None:
    player = VariantPlayer(Backwards(SEED_001), SEED_001)

    found = here(player, ORD)("ORD-001", failure_file().world)

    assert code_of(found) == 1
    assert shown(found).startswith("still fails: ORD-001 on mine (seed-001)\n")
    assert "expected  [" in shown(found)


def test_failure_that_is_gone_is_fixed() -> None:
    player = VariantPlayer(ReferenceEngine(SEED_001), SEED_001)

    found = here(player, ORD)("ORD-001", failure_file().world)

    assert code_of(found) == 0
    assert shown(found) == "fixed: ORD-001 on mine (seed-001): 1 decision, all for it\n"


def test_trap_3_a_world_that_decides_nothing_is_not_fixed() -> None:
    player = VariantPlayer(ReferenceEngine(SEED_001), SEED_001)

    found = here(player, ORD)("ORD-001", failure_file(scenario=NO_HOOKS).world)

    assert code_of(found) == 4
    assert "not decided: ORD-001 on mine (seed-001): this world no longer" in (
        shown(found)
    )


def test_trap_3_an_engine_that_breaks_down_is_not_fixed() -> None:
    found = replayed_on(opened(FakeWorker(broken="boom")), Path("x"), failure_file())

    assert code_of(found) == 3
    assert shown(found) == "error: ORD-001 on mine (seed-001): boom\n"


def test_another_engine_than_the_recorded_one_is_refused_before_it_plays() -> None:
    worker = FakeWorker("theirs")

    with pytest.raises(OtherEngineError) as caught:
        replayed_on(opened(worker), Path("x.json"), failure_file())

    assert str(caught.value) == (
        "x.json is a failure of engine 'mine', and 'theirs' is another: name 'mine',"
        " or choose a file of 'theirs'"
    )
    assert [each["op"] for each in worker.asked] == ["load"]


def test_an_engine_under_another_profile_is_not_asked() -> None:
    worker = FakeWorker(profile="eino-0.8", fails=False, decided=2)

    with pytest.raises(OtherProfileError, match="was found under 'seed-001'"):
        replayed_on(opened(worker), Path("x.json"), failure_file())

    assert [each["op"] for each in worker.asked] == ["load"]


def test_a_worker_is_asked_for_the_clause_and_the_world() -> None:
    worker = FakeWorker(fails=False, decided=2)

    found = by_worker(worker)("ORD-001", failure_file().world)

    assert found == ReplayedWorld(2)
    assert worker.asked == [{"op": "replay", "clause": "ORD-001", "scenario": WORLD}]


def test_a_worker_that_has_no_answer_is_told_as_such() -> None:
    assert replayed("ORD-001", {"lost": "why"}) == ReplayedWorld(lost="why")
    assert replayed("ORD-001", {"usage": "why"}) == ReplayedWorld(usage="why")
    assert replayed("ORD-001", {"decided": 0}).lost.startswith("this world no longer")


# --- the commands


def refengine(folder: Path, *arguments: str):
    return commands.refengine(*arguments, at=folder)


def test_a_failure_is_written_listed_and_replayed(tmp_path: Path) -> None:
    placed(tmp_path)
    conform = ["conform", "engines.py:broken", "--clause", "ORD-001"]
    folder = Path(".refengine", "failures")

    with judging_in("ORD"):
        refengine(tmp_path, *conform, "--examples", "0", "--failures", str(folder))
    listed = refengine(tmp_path, "failure", "list")
    file = str(folder / "mine-ORD-001.json")
    again = refengine(tmp_path, "failure", "replay", file, "engines.py:broken")
    other = refengine(tmp_path, "failure", "replay", file, "reference")

    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith(f"{file}  ORD-001  mine (seed-001)  ")
    assert again.returncode == 1, again.stderr
    assert again.stdout.startswith("still fails: ORD-001 on mine (seed-001)\n")
    assert other.returncode == 2
    assert "is a failure of engine 'mine', and 'reference' is another" in other.stderr
    assert other.stdout == ""


def test_a_failure_is_replayed_under_its_own_profile(tmp_path: Path) -> None:
    found = failure_file(engine="reference", profile="eino-0.8")
    path = write_failure(tmp_path, found)

    done = refengine(tmp_path, "failure", "replay", path.name, "reference")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fixed: ORD-001 on reference (eino-0.8): ")


def test_a_failure_in_a_recorded_session_is_replayed(tmp_path: Path) -> None:
    placed(tmp_path)
    player = VariantPlayer(Backwards(SEED_001), SEED_001)
    failing = (
        world
        for world in recorded_worlds(0)
        if "ORD-001" in judge(player, world, ORD).failed
    )
    scenario = next(failing).written.model_dump(mode="json", exclude_defaults=True)
    path = write_failure(tmp_path, failure_file(scenario=scenario))

    again = refengine(tmp_path, "failure", "replay", path.name, "engines.py:broken")
    mended = refengine(tmp_path, "failure", "replay", path.name, "engines.py:mended")

    assert again.returncode == 1, again.stderr
    assert again.stdout.startswith("still fails: ORD-001 on mine (seed-001)\n")
    assert mended.returncode == 0, mended.stderr
    assert mended.stdout.startswith("fixed: ORD-001 on mine (seed-001): ")


def test_a_list_of_nothing_is_told(tmp_path: Path) -> None:
    none = refengine(tmp_path, "failure", "list")
    (tmp_path / "empty").mkdir()
    empty = refengine(tmp_path, "failure", "list", "empty")
    (tmp_path / "empty" / "x.json").write_text("{}", "utf-8")
    wrong = refengine(tmp_path, "failure", "list", "empty")

    assert (none.returncode, empty.returncode, wrong.returncode) == (2, 4, 2)
    assert none.stderr.endswith("failures: No such file or directory\n")
    assert empty.stderr == "refengine failure list: no failure files in empty\n"
    assert "x.json: is not a failure file: engine: is missing" in wrong.stderr


def test_a_clause_that_there_is_not_is_told(tmp_path: Path) -> None:
    path = write_failure(tmp_path, failure_file(clause="ORD-999"))

    done = refengine(tmp_path, "failure", "replay", path.name, "reference")

    assert done.returncode == 2
    assert done.stderr.startswith("refengine failure replay: no clause matches")
