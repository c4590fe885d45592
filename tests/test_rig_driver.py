"""Real rig behind its driver in Rust: the same traces as the reference has."""

import shutil
from dataclasses import replace

import pytest

from compat.drivers.building import DriverBuildError, MissingToolchainError
from compat.drivers.installed import RIG
from compat.drivers.rust_building import find_rust
from compat.engines.capabilities import CAPABILITIES
from compat.engines.loading import load_engine
from compat.profiles.comparing import unconfirmed
from compat.profiles.confirming import confirmed, projected
from refengine.profile import options, profile
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace, first_divergence

pytestmark = pytest.mark.usefixtures("driver_traffic")
needs_rust = pytest.mark.skipif(
    any(shutil.which(each) is None for each in ("cargo", "rustc")),
    reason="without Cargo no driver in Rust is built",
)
NAME = "rig@0.44"


def world(**more: object) -> dict[str, object]:
    def handler(number: int) -> dict[str, object]:
        return {
            "id": f"H{number}",
            "before_agent": [{"op": "append_instruction", "text": f"X{number}"}],
            "before_model": [{"op": "append", "msg": f"user:m{number}"}],
            "wrap_model": {"record": f"H{number}"},
            "wrap_invokable": {},
            "after_agent": [],
        }

    tools = [{"name": name, "result": "of <args>"} for name in ("t", "u")]
    agent = {"name": "A", "tools": tools}
    return {
        "agent": {**agent, "handlers": [handler(1), handler(2)], **more},
        "model_script": ['assistant:look[1:t({"a": 1})][2:u({})]', "assistant:done"],
        "runs": [{"input": ["user:hi"]}],
    }


def both(scenario: dict[str, object]) -> tuple[Trace, Trace]:
    """Return what it does, and what the reference does under its profile."""
    read = read_scenario(scenario)
    under = ReferenceEngine(profile("rig-0.44"))
    return run(play(read, load_engine(NAME).engine)), run(play(read, under))


@needs_rust
def test_its_hooks_see_and_change_what_the_reference_says_under_its_profile(
    driver_traffic: set[tuple[str, str]],
) -> None:
    # The instruction that hooks make stands in no history that the run hands back.
    quiet = {"id": "H", "before_model": [{"op": "append", "msg": "user:m"}]}
    wrapper = {"id": "W", "wrap_model": {"record": "W"}, "wrap_invokable": {}}
    theirs, ours = both(world(handlers=[quiet, wrapper], instruction="B"))

    assert first_divergence(projected(theirs), projected(ours)) is None
    assert len(ours) > 20
    assert {name for _, name in driver_traffic} >= {"build", "hook", "next", "tool"}


@needs_rust
def test_what_handlers_add_to_the_instruction_is_sent_with_each_call() -> None:
    theirs, ours = both(world(instruction="B"))

    def asked(trace: Trace) -> list[object]:
        return [x["data"] for x in projected(trace) if x["kind"] == "model_request"]

    assert asked(theirs) == asked(ours)
    assert len(asked(theirs)) == 2


@needs_rust
def test_a_tool_that_fails_is_answered_and_a_model_that_fails_ends_the_run() -> None:
    failing = world(tools=[{"name": "t", "error": "no"}, {"name": "u"}], handlers=[])

    for script in (failing["model_script"], [{"error": "broken"}]):
        theirs, ours = both({**failing, "model_script": script})
        kinds = [each["kind"] for each in projected(theirs)]
        assert kinds == [each["kind"] for each in projected(ours)]


@needs_rust
def test_a_tool_that_takes_long_lets_another_call_of_its_message_run() -> None:
    tools = [
        {"name": "t", "delay_ms": 5, "result": "late"},
        {"name": "u", "result": "r"},
    ]
    theirs, _ = both(world(tools=tools, handlers=[]))

    ended = [each.call_id for each in theirs if each.kind == "tool_end"]

    assert ended == ["2", "1"]


@needs_rust
@pytest.mark.parametrize("said", [["user:(nothing)"], ["user:a", "user:b"], []])
def test_what_a_run_is_asked_with_by_the_door_alone_is_not_told(said) -> None:
    theirs, ours = both({**world(handlers=[]), "runs": [{"input": said}]})

    assert first_divergence(projected(theirs), projected(ours)) is None


@needs_rust
def test_what_is_built_is_what_the_name_says() -> None:
    engine = load_engine(NAME)

    assert engine.version == RIG.version
    assert engine.profile.name == "rig-0.44"
    assert not engine.assumed
    # what is not declared is skipped: it is pinned
    assert len(set(CAPABILITIES) - engine.capabilities) == 24


@needs_rust
def test_each_posture_is_confirmed_by_a_run_or_listed_with_a_reason() -> None:
    engine, under = load_engine(NAME).engine, profile("rig-0.44")
    found = [confirmed(engine, under, each) for each in options()]
    shown = {each.posture: each for each in found if each.ran}
    listed = unconfirmed()[under.name]

    assert {name for name, each in shown.items() if each.divergence} == set(listed)
    assert len(found) - len(shown) == 19


@needs_rust
def test_crates_are_those_that_are_pinned(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = tmp_path / "rust"
    shutil.copytree("compat/drivers/rust", sources)
    monkeypatch.setattr("compat.drivers.rust_building.SOURCES", sources)
    manifest = sources / "rig" / "Cargo.toml"
    text = manifest.read_text("utf-8")
    # It could be resolved: what is not pinned is refused, and not looked for.
    manifest.write_text(
        text.replace('serde_json = "1"', 'serde_json = "1"\nitoa = "1"')
    )

    with pytest.raises(DriverBuildError, match="Cargo can reach") as told:
        replace(RIG, version="other").command()

    assert "--locked" in str(told.value)


def test_without_rust_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(MissingToolchainError, match=r"needs Rust 1\.95 or newer"):
        find_rust(NAME)


def test_a_compiler_that_is_too_old_is_told_with_its_version(
    tmp_path, monkeypatch
) -> None:
    for name in ("cargo", "rustc"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'rustc 1.80.1 (3f5fd8dd4 2024-08-06)'\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    with pytest.raises(MissingToolchainError, match=r"rustc 1\.80\.1 .* is"):
        find_rust(NAME)
