"""Migrations of graphs judged over the wire: a real client, a real server, children."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langchain_core.tools import tool

from compat.cli.main import main
from compat.migration import wire
from compat.migration import wire as wire_module
from compat.migration.check import check, check_all, corpus_of, over_the_wire
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.migration.wire import (
    ANSWER,
    HISTORY,
    LONG,
    LONGEST,
    TOOLS,
    NoWorldsError,
    Wire,
    fits_the_wire,
    sendable,
    serving,
    unfit,
)
from compat.migration.wire import over_the_wire as fitting
from refengine.testing import Scenario, Trace, World, read_scenario
from refengine.testing.channels import CHANNELS, Seen, project
from refengine.testing.graphs.wire import NotLoopbackError
from refengine.testing.subject_worlds.words import Words
from refengine.testing.subjects import SubjectError, play_alone
from refengine.testing.world import WorldExtraError
from tests.test_graphs import CALLS, data_of, hi, newer, older, scenario
from tests.test_migrate_graphs import NEWER

OLD = """
from langgraph.prebuilt import create_react_agent
from refengine import AgentMiddleware

def older(world, model=None, **more):
    face = world.as_langchain()
    return create_react_agent(
        model or face.model, face.tools, prompt=face.system_prompt, **more
    )

def plain(world):
    return older(world)

def trims(world):
    return older(
        world,
        pre_model_hook=lambda state: {"llm_input_messages": state["messages"][-3:]},
    )

def bound(world, **settings):
    face = world.as_langchain()
    tools = face.tools
    return older(world, face.model.bind_tools(tools, **settings) if tools else None)

def one_at_a_time(world):
    return bound(world, parallel_tool_calls=False)

def must_call(world):
    return bound(world, tool_choice="any")

def only_async(world):
    async def hook(state):
        return {"llm_input_messages": state["messages"][-3:]}
    return older(world, pre_model_hook=hook)

def a_list(world):
    return [AgentMiddleware(additional_instruction="Be kind.")]

def a_configuration(world):
    return world.config(instruction="Be kind.")
"""
NEW = (
    NEWER
    + """
def one_at_a_time(world):
    @wrap_model_call
    def sets(request, handler):
        settings = {"parallel_tool_calls": False} if request.tools else {}
        return handler(request.override(model_settings=settings))
    return newer(world, sets)
"""
)
FEW = 6
KINDS = {
    "calls": scenario([*CALLS, *CALLS], hi(), hi(continues=True)),
    "streamed": scenario([*CALLS, *CALLS], hi(streaming=True), hi(continues=True)),
    "failing": scenario([{"error": "boom"}, "assistant:a"], hi(), hi()),
    "umlauts": scenario(["assistant:Grüß dich 🎉"], {"input": ["user:Grüße\n\t🎉"]}),
    "history": scenario(
        ["assistant:b"],
        {"input": ["user:a", 'assistant:x[c0:t({"q": "ü"})]', "tool(c0):r", "user:b"]},
    ),
    "unknown tool": scenario(["assistant:[c1:gone({})]", "assistant:a"], hi()),
    "denied": scenario(CALLS, hi(denies=["c1"])),
    "empty": scenario(["assistant:"], {"input": ["user:"]}),
    "cut off": scenario(
        [{"chunks": ["assistant:so ", "assistant:far"], "stream_error": "cut off"}],
        hi(streaming=True),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("wire")
    (made / "old.py").write_text(OLD)
    (made / "new.py").write_text(NEW)
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[Wire]:
    with serving() as served:
        yield served


def judged(folder: Path, old: str, new: str, step: int = FEW) -> Any:
    """Judge a pair in every so-many-th world of its corpus."""
    refs = [
        parse_ref(f"{folder}/{name}") for name in (f"old.py:{old}", f"new.py:{new}")
    ]
    with over_the_wire(CheckOptions(examples=1)) as how:
        corpus = corpus_of(refs, how)
        corpus = replace(corpus, worlds=corpus.worlds[::step])
        news = {"new": (refs[1], Terms())}
        found = check_all(refs[0], news, corpus, how, explain=True)
    return found["new"].verdict


@pytest.fixture
def few_worlds(monkeypatch) -> None:
    """Leave out all worlds but the shortest."""
    monkeypatch.setattr(wire, "LONGEST", 2)


def played(server: Wire, world: Scenario, build: Any) -> Trace:
    address = server.begin(world)
    try:
        return play_alone(world, build, wire=address).trace
    finally:
        server.end(address)


# Judging


def test_agents_without_middleware_do_the_same_over_the_wire(folder) -> None:
    verdict = judged(folder, "plain", "plain", step=2)

    assert (verdict.holds, verdict.fault) == ("identical", None)
    assert verdict.exercise["old"].ways == ("sync",)
    assert "langchain-openai" in verdict.exercise["new"].frameworks


def test_port_that_persists_what_was_for_the_model_alone_is_found(folder) -> None:
    verdict = judged(folder, "trims", "persists")

    assert not verdict.sufficient
    assert verdict.divergence.difference.channel in {"state", "pairing"}
    assert fits_the_wire(verdict.world)


def test_port_that_keeps_the_settings_is_not_accused(folder) -> None:
    assert judged(folder, "one_at_a_time", "one_at_a_time").sufficient


@pytest.mark.parametrize(
    ("old", "options"),
    [
        ("one_at_a_time", {"parallel_tool_calls": False}),
        ("must_call", {"tool_choice": "required"}),
    ],
)
def test_port_that_loses_a_setting_is_found_in_the_body(folder, old, options) -> None:
    verdict = judged(folder, old, "plain")

    assert verdict.divergence.code == "SETTINGS"
    found = verdict.divergence.difference
    assert (found.channel, found.old, found.new) == ("requests", options, {})


@pytest.mark.parametrize("subject", ["a_list", "a_configuration"])
def test_only_graphs_are_judged_over_the_wire(folder, subject) -> None:
    fault = judged(folder, subject, "plain").fault

    assert (fault.side, fault.kind, fault.usage) == ("old", "wrong-result", True)
    assert "over the wire only graphs are played" in fault.text


def test_graph_that_is_only_async_is_told_what_to_do(folder) -> None:
    fault = judged(folder, "only_async", "plain").fault

    assert (fault.side, fault.usage) == ("old", True)
    assert "give its hooks a plain form, too, or leave the wire out" in fault.text


def test_check_forgets_its_worlds_and_ends_its_server(folder, few_worlds) -> None:
    threads = set(threading.enumerate())
    refs = [parse_ref(f"{folder}/{name}") for name in ("old.py:plain", "new.py:plain")]

    with over_the_wire(CheckOptions(examples=1)) as how:
        verdict = check(*refs, Terms(), how).verdict
        server: Any = how.wire and how.wire._server
        left = server._worlds
        host, _, port = server.root.removeprefix("http://").partition(":")

    assert (verdict.holds, left) == ("identical", {})
    assert set(threading.enumerate()) == threads
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


# The command


def ran(capsys, *arguments: object) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["migrate", "check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return ended.value.code or 0, out, err


def test_report_names_the_client_and_what_was_left_out(
    folder, few_worlds, capsys
) -> None:
    report = folder / "report.json"
    code, out, _ = ran(
        capsys,
        f"{folder}/old.py:plain",
        f"{folder}/new.py:plain",
        "--wire",
        "--examples=1",
        "--search-plays=0",
        f"--json={report}",
    )

    header = json.loads(report.read_text())["header"]
    count = sum(header["wire"]["left_out"].values())
    clients = {name: version(name) for name in ("langchain-openai", "openai")}
    chat, official = clients.values()
    assert code == 0
    assert f"over the wire: ChatOpenAI {chat}, openai {official}\n" in out
    assert f"{count} worlds left out: " in out
    assert header["wire"]["clients"] == clients


def test_handlers_over_the_wire_are_a_mistake_in_what_was_given(
    folder, few_worlds, capsys
) -> None:
    subject = f"{folder}/old.py:a_list"
    code, out, _ = ran(capsys, subject, subject, "--wire", "--examples=1")

    assert code == 2
    assert "return a graph built from world.as_langchain()" in out


def test_folder_is_judged_on_one_server(tmp_path, few_worlds, capsys) -> None:
    for name, source in (("old.py", OLD), ("right.py", NEW), ("wrong.py", NEW)):
        (tmp_path / name).write_text(source)
    (tmp_path / "migration.toml").write_text(
        """
        old = "old.py:trims"
        [cases."right.py:plain"]
        diverges = "MESSAGE_ADDED"
        [cases."wrong.py:persists"]
        diverges = "STATE_LOST"
        [cases."wrong.py:plain"]
        diverges = "WAY_LOST"
        """
    )
    code, out, _ = ran(capsys, "--all", tmp_path, "--wire", "--examples=1")

    assert code == 0, out
    assert "2 cases, 2 met" in out
    assert out.count("over the wire: ") == 1
    assert "1 case left out, there is one way to run a graph: " in out


def test_corpus_without_a_world_for_the_wire_is_a_mistake(
    folder, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(wire, "LONGEST", -1)
    subject = f"{folder}/old.py:plain"
    code, _, err = ran(capsys, subject, subject, "--wire", "--examples=1")

    assert code == 2
    assert "no world can be played over the wire" in err


def test_reproducer_plays_in_process_and_is_refused(folder, capsys) -> None:
    subject = f"{folder}/old.py:plain"
    code, _, err = ran(capsys, subject, subject, "--wire", f"--reproducer={folder}/new")

    assert code == 2
    assert "--reproducer" in err


def test_missing_client_names_the_extra(monkeypatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wire_module, "version", missing)

    with pytest.raises(WorldExtraError, match="needs the extra 'langchain'"), serving():
        pass


# What goes over the wire


@pytest.mark.parametrize("build", [older, newer], ids=["langgraph", "langchain"])
@pytest.mark.parametrize("kind", KINDS)
def test_bodies_say_what_the_model_in_process_is_told(server, kind, build) -> None:
    world = KINDS[kind]
    here, there = play_alone(world, build).trace, played(server, world, build)

    for channel in ("requests", "model_calls", "tool_executions", "pairing", "state"):
        told, sent = (project(Seen(trace), channel) for trace in (here, there))
        assert [each.value for each in sent] == [each.value for each in told], channel


def test_channels_are_filled_as_in_process(server) -> None:
    world = scenario([*CALLS, *CALLS], hi(), hi(continues=True, streaming=True))
    here, there = play_alone(world, newer).trace, played(server, world, newer)

    for channel in set(CHANNELS) - {"observed"}:  # which has marks of the vendor's
        told, sent = (project(Seen(trace), channel) for trace in (here, there))
        assert [each.value for each in sent] == [each.value for each in told], channel


def test_second_model_is_named_in_the_body(server) -> None:
    def build(world: World) -> Any:
        face = world.as_langchain()
        first = face.model.invoke("hi").content
        face.model_named("backup").invoke(str(first))
        return newer(world)

    world = scenario(["assistant:a", "assistant:b", "assistant:c"])
    requests = data_of(played(server, world, build), "model_request")

    assert [each["n"] for each in requests] == [1, 2, 3]
    assert [each["options"] for each in requests] == [{}, {"model": "backup"}, {}]


def test_error_that_the_server_tells_is_one_of_the_model(server) -> None:
    trace = played(server, scenario([{"error": "rate_limit boom"}]), newer)

    (event,) = data_of(trace, "event")
    assert (event["class"], event["error"]["point"]) == (
        "OpenAIRateLimitError",
        "model",
    )
    assert data_of(trace, "model_error") == [{"error": "rate_limit boom"}]
    assert len(trace.of("model_request")) == 1


@pytest.mark.parametrize("streaming", [False, True])
def test_connection_that_is_cut_is_an_error_of_the_model(server, streaming) -> None:
    world = scenario([{"error": "connection reset"}], hi(streaming=streaming))

    (event,) = data_of(played(server, world, newer), "event")
    assert event["error"]["point"] == "model"


def test_time_passes_on_the_virtual_clock_alone(server) -> None:
    told: list[float] = []

    @before_model
    def looks(state: Any, runtime: Any) -> None:
        told.append(worlds[-1].now())

    worlds: list[World] = []

    def build(world: World) -> Any:
        worlds.append(world)
        return newer(world, looks)

    played(server, scenario(CALLS), build)

    assert told == [0.0, 1.0]


def test_hook_with_a_loop_of_its_own_is_heard(server) -> None:
    def build(world: World) -> Any:
        model = world.as_langchain().model

        @before_model
        def asks(state: Any, runtime: Any) -> None:
            asyncio.run(model.ainvoke("sure?"))

        return newer(world, asks)

    world = scenario(["assistant:yes", CALLS[0], "assistant:yes", CALLS[1]])
    trace = played(server, world, build)

    assert len(trace.of("model_request")) == 4
    assert data_of(trace, "run_end")[0]["answer"]["content"] == "done it"


def test_own_tool_of_a_subject_is_called_as_it_asks_to_be(server) -> None:
    @tool
    def double(q: int) -> str:
        """Double."""
        return str(2 * q)

    def build(world: World) -> Any:
        face = world.as_langchain()
        return create_agent(face.model, [*face.tools, double])

    world = scenario(['assistant:[c1:<own 0>({"integer": 4})]', "assistant:a"])
    trace = played(server, world, build)

    (started,) = trace.of("tool_start")
    assert (started.data["name"], started.data["arguments"]) == ("double", '{"q": 4}')


def test_nothing_is_taken_from_the_environment(server, monkeypatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LC_OUTPUT_VERSION", "responses/v1")

    trace = played(server, scenario(["assistant:a"]), newer)

    assert data_of(trace, "run_end")[0]["status"] == "completed"


def test_another_machine_is_not_asked() -> None:
    with pytest.raises(NotLoopbackError, match="not on loopback"):
        play_alone(scenario(["assistant:a"]), newer, wire="http://10.0.0.1/v1")


def test_world_that_is_over_is_played_by_nobody_else(server) -> None:
    world = scenario(["assistant:a"])
    address = server.begin(world)
    server.end(address)

    (event,) = data_of(play_alone(world, newer, wire=address).trace, "event")
    assert event["class"] == "OpenAIModelNotFoundError"


def test_extensions_of_our_own_have_no_wire() -> None:
    with pytest.raises(SubjectError, match="leave the wire out"):
        play_alone(scenario([]), lambda _: [], wire="http://127.0.0.1:9/v1")


# Worlds


def world_with(**parts: Any) -> Scenario:
    data = {"agent": {}, "model_script": ["assistant:a"], "runs": [hi()], "way": "sync"}
    return read_scenario({**data, **parts}, "here")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({}, None),
        ({"agent": {"tools": [{"name": "t"}]}}, None),
        ({"agent": {"tools": [{"name": "a.b"}]}}, TOOLS),
        ({"agent": {"tools": [{"name": "t" * 65}]}}, TOOLS),
        ({"model_script": ["assistant:[c1:t({})][c2:t({})]"]}, None),
        ({"model_script": ["assistant:[c1:<own 0>({})]"]}, None),
        ({"model_script": ["assistant:[c1:t({})][c1:t({})]"]}, ANSWER),
        ({"model_script": ["assistant:[c1:a.b({})]"]}, ANSWER),
        ({"model_script": ["user:a"]}, ANSWER),
        ({"runs": [{"input": ["tool(c1):r"]}]}, HISTORY),
        ({"runs": [{"input": []}]}, None),
        ({"runs": [{"input": ["tool(c1):r"]}, hi()]}, None),
        ({"model_script": ["assistant:a"] * LONGEST}, None),
        ({"model_script": ["assistant:a"] * (LONGEST + 1)}, LONG),
    ],
)
def test_world_that_a_vendor_refuses_is_left_out(parts, why) -> None:
    assert unfit(world_with(**parts)) == why


def test_only_worlds_of_own_tools_are_made_short() -> None:
    calls = [f"assistant:[c{at}:<own 0>({{}})]" for at in range(LONGEST)]
    script = ["assistant:a", calls[0], "assistant:b", *calls[1:], "assistant:c"]
    long = world_with(model_script=script, runs=[hi()] * 3)
    entries = (
        MigrationWorld(long, "own tools", fixed=False),
        MigrationWorld(long, "texts", fixed=False),
    )
    corpus, left_out = fitting(Corpus(entries, 0))

    (kept,) = (each.scenario for each in corpus.worlds)
    assert kept == world_with(model_script=script[:3], runs=[hi()] * 2)
    assert left_out == {LONG: 1}


def test_corpus_has_what_can_be_served_and_counts_the_rest() -> None:
    worlds = (
        world_with(way="async"),
        world_with(agent={"tools": [{"name": "a.b"}]}),
        world_with(model_script=["user:a"]),
        world_with(agent={"tools": [{"name": "c d"}]}),
    )
    entries = tuple(MigrationWorld(each, "here", fixed=True) for each in worlds)
    corpus, left_out = fitting(Corpus(entries, 0))

    assert [each.scenario for each in corpus.worlds] == [world_with()]
    assert left_out == {TOOLS: 2, ANSWER: 1}
    with pytest.raises(NoWorldsError, match=f"2 with {TOOLS}"):
        fitting(Corpus(entries[1:], 0))


def test_smaller_world_stays_one_of_the_wire() -> None:
    assert fits_the_wire(world_with())
    assert not fits_the_wire(world_with(way="async"))
    assert not fits_the_wire(world_with(script_end="fail"))
    assert not fits_the_wire(world_with(model_script=["user:a"]))


def test_names_that_no_vendor_takes_are_no_words() -> None:
    words = Words(names=("search", "a.txt", "x y"), texts=("a.txt",))

    assert sendable(words) == Words(names=("search",), texts=("a.txt",))
