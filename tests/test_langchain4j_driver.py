"""Real LangChain4j behind its driver in Java: the same traces as the reference has."""

import shutil
from dataclasses import replace

import pytest

from compat.drivers.building import DriverBuildError, MissingToolchainError
from compat.drivers.installed import LANGCHAIN4J
from compat.drivers.java_building import find_java
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
needs_java = pytest.mark.skipif(
    any(shutil.which(each) is None for each in ("java", "javac", "mvn")),
    reason="without a JDK and Maven no driver in Java is built",
)
NAME = "langchain4j@1"


def world(**more: object) -> dict[str, object]:
    def handler(number: int) -> dict[str, object]:
        return {
            "id": f"H{number}",
            "before_agent": [{"op": "append_instruction", "text": f"X{number}"}],
            "before_model": [{"op": "append", "msg": f"user:m{number}"}],
            "wrap_model": {"record": f"H{number}"},
        }

    tools = [{"name": name, "result": "of <args>"} for name in ("t", "u")]
    agent = {"name": "A", "instruction": "B", "tools": tools}
    return {
        "agent": {**agent, "handlers": [handler(1), handler(2)], **more},
        "model_script": ['assistant:look[1:t({"a": 1})][2:u({})]', "assistant:done"],
        "runs": [{"input": ["user:hi"]}],
    }


def both(scenario: dict[str, object]) -> tuple[Trace, Trace]:
    """Return what it does, and what the reference does under its profile."""
    read = read_scenario(scenario)
    under = ReferenceEngine(profile("langchain4j-1"))
    return run(play(read, load_engine(NAME).engine)), run(play(read, under))


@needs_java
def test_it_does_as_the_reference_does_under_its_profile(
    driver_traffic: set[tuple[str, str]],
) -> None:
    theirs, ours = both(world())

    assert first_divergence(projected(theirs), projected(ours)) is None
    assert len(ours) > 20
    assert {name for _, name in driver_traffic} >= {"build", "hook", "next", "tool"}


@needs_java
def test_a_tool_that_fails_is_answered_and_a_model_that_fails_ends_the_run() -> None:
    failing = {**world(tools=[{"name": "t", "error": "no"}, {"name": "u"}])}

    for script in (failing["model_script"], [{"error": "broken"}]):
        theirs, ours = both({**failing, "model_script": script})
        assert first_divergence(projected(theirs), projected(ours)) is None


@needs_java
@pytest.mark.parametrize("said", [["user:(nothing)"], ["assistant:before"], []])
def test_what_a_service_is_asked_with_by_the_door_alone_is_not_told(said) -> None:
    theirs, ours = both({**world(), "runs": [{"input": said}]})

    assert first_divergence(projected(theirs), projected(ours)) is None


@needs_java
def test_what_is_built_is_what_the_name_says() -> None:
    engine = load_engine(NAME)

    assert engine.version == LANGCHAIN4J.version
    assert engine.profile.name == "langchain4j-1"
    assert not engine.assumed
    # what is not declared is skipped: it is pinned
    assert len(set(CAPABILITIES) - engine.capabilities) == 28


@needs_java
def test_each_posture_is_confirmed_by_a_run_or_listed_with_a_reason() -> None:
    engine, under = load_engine(NAME).engine, profile("langchain4j-1")
    found = [confirmed(engine, under, each) for each in options()]
    shown = {each.posture: each for each in found if each.ran}
    listed = unconfirmed()[under.name]

    assert {name for name, each in shown.items() if each.divergence} == set(listed)
    assert len(found) - len(shown) == 20


@needs_java
def test_jars_are_those_that_are_pinned(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = tmp_path / "java"
    shutil.copytree("compat/drivers/java", sources)
    monkeypatch.setattr("compat.drivers.java_building.SOURCES", sources)
    pinned = sources / "langchain4j" / "pinned.sha256"
    text = pinned.read_text("utf-8")
    pinned.write_text(text.replace(text[:4], "0000", 1), "utf-8")

    with pytest.raises(DriverBuildError, match="not what is pinned") as told:
        replace(LANGCHAIN4J, version="other").command()

    assert "jackson-annotations" in str(told.value)


def test_without_java_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(MissingToolchainError, match="needs a JDK of Java 17 or newer"):
        find_java(NAME)
