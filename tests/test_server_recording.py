"""Cassettes from scenarios: recorded, shipped, and played again in both ways."""

import json
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import httpx2
import pytest
from openai import OpenAI

from compat.wire.canonical import canonical_request, canonical_response
from compat.wire.cassette_files import read_cassette
from compat.wire.client import NothingToPlayError, NotPlayableError, play
from compat.wire.errors import RecordingError
from compat.wire.manifest import NAME, check, read_manifest
from compat.wire.matching import recording_of
from compat.wire.recording import (
    BASE_URL,
    KEY,
    CassetteNameError,
    record,
    recorded,
)
from compat.wire.scrubbing import Scrubber
from compat.wire.strict import strict_cassette
from compat.wire.transport import ReplayTransport
from refengine.testing.scenario_files import load_scenario, read_scenario

SHIPPED = Path(__file__).parent.parent / "cassettes"
DAY = date(2026, 11, 22)
OUTCOMES = {
    "content_with_calls": ("The sum is 3.",),
    "empty_answer": ("", ""),
    "long_streamed_answer": (
        "\n".join(
            f"Zeile {n}: Der schnelle braune Fuchs springt über {n} faule Hunde."
            for n in range(1, 13)
        ),
    ),
    "parallel_calls_interleaved": ("The sum is 3, and in Köln it is 18 °C.",),
    "plain_text": ("The capital of France is Paris.",),
    "rate_limit_then_answer": ("Here I am again.",),
    "refusal": ("I cannot help with that.",) * 2,
    "server_error": (
        "InternalServerError: Error code: 500 - the model is out of order",
    ),
    "streamed_emoji_and_umlauts": (
        "Schöne Grüße aus Köln 🎉 \u2013 Familie 👩\u200d👩\u200d👧 und 日本語.",
    ),
    "tool_error": ("There is no file notes.txt.",),
    "two_turns": ("Nice to meet you, Ada.", "Your name is Ada."),
}


def scenario_of(name):
    return load_scenario(SHIPPED / "scenarios" / f"{name}.json")


def cassette_of(name):
    return SHIPPED / f"{name}.yaml"


@contextmanager
def client_of(**more):
    with OpenAI(base_url=BASE_URL, api_key="any", **more) as client:
        yield client


def test_each_scenario_has_a_cassette_and_each_cassette_a_scenario() -> None:
    scenarios = {path.stem for path in (SHIPPED / "scenarios").glob("*.json")}
    cassettes = {path.stem for path in SHIPPED.glob("*.yaml")}

    assert scenarios == cassettes == OUTCOMES.keys()


def test_the_manifest_tells_each_shipped_cassette() -> None:
    entries = check(SHIPPED).cassette

    assert {entry.file for entry in entries} == {f"{name}.yaml" for name in OUTCOMES}
    assert {entry.source for entry in entries} == {"scripted server"}
    for entry in entries:
        name = entry.file.removesuffix(".yaml")
        made_by = f"refengine cassette record scenarios/{name}.json {entry.file}"
        assert entry.command == made_by


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_shipped_cassette_plays_under_the_strict_one(name) -> None:
    with client_of() as client, strict_cassette(cassette_of(name)):
        assert play(scenario_of(name), [client]) == OUTCOMES[name]


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_shipped_cassette_plays_through_our_own_transport(name) -> None:
    transport = ReplayTransport(recording_of(cassette_of(name)))
    replaying = httpx2.Client(transport=transport)
    with client_of(http_client=replaying) as client:
        assert play(scenario_of(name), [client]) == OUTCOMES[name]


def forms(exchanges):
    return [
        (canonical_request(each.request).tree, canonical_response(each.response).tree)
        for each in exchanges
    ]


@pytest.mark.parametrize("name", ["parallel_calls_interleaved", "refusal"])
def test_a_new_recording_is_the_shipped_one(name, tmp_path) -> None:
    source = SHIPPED / "scenarios" / f"{name}.json"
    path = tmp_path / f"{name}.yaml"

    done = record(source, path, day=DAY)

    assert done.outcomes == OUTCOMES[name]
    assert forms(read_cassette(path)) == forms(read_cassette(cassette_of(name)))


def file_of(folder, **scenario):
    path = folder / "mine.json"
    full = {"agent": {}, "model_script": ["assistant:hi"], **scenario}
    path.write_text(json.dumps(full), "utf-8")
    return path


def test_a_recording_is_entered_in_the_manifest_beside_it(tmp_path) -> None:
    source = file_of(tmp_path, runs=[{"input": ["user:hi"]}])
    folder = tmp_path / "cassettes"

    record(source, folder / "b.yaml", day=DAY)
    record(source, folder / "a.json", day=DAY)

    assert [entry.file for entry in check(folder).cassette] == ["a.json", "b.yaml"]
    [_, entry] = read_manifest(folder).cassette
    assert (entry.sdk, entry.date, entry.interactions) == ("openai", DAY, 1)
    # Not where it stands: that is this machine's.
    assert entry.command == "refengine cassette record mine.json b.yaml"


def test_a_recording_again_replaces_its_entry(tmp_path) -> None:
    source = file_of(tmp_path, runs=[{"input": ["user:hi"]}])
    path = tmp_path / "cassettes" / "a.yaml"
    record(source, path, day=DAY)

    with pytest.raises(RecordingError, match="is there already"):
        record(source, path, day=DAY)
    again = file_of(tmp_path, runs=[{"input": ["user:hi"]}] * 2)
    record(again, path, day=date(2026, 11, 23), overwrite=True)

    [entry] = check(path.parent).cassette
    assert (entry.interactions, entry.date.day) == (2, 23)


def test_no_key_and_no_port_reach_the_file(tmp_path) -> None:
    path = tmp_path / "cassettes" / "a.yaml"
    record(file_of(tmp_path, runs=[{"input": ["user:hi"]}]), path, day=DAY)

    text = path.read_text("utf-8")
    assert KEY not in text
    assert "127.0.0.1" not in text
    assert "uri: http://scripted.test/v1/chat/completions" in text


def test_each_agent_plays_the_whole_script(tmp_path) -> None:
    runs = [{"input": ["user:hi"], "agent": at} for at in (1, 0)]
    source = file_of(tmp_path, agents=[{}, {"instruction": "Be kind."}], runs=runs)
    scenario = json.loads(source.read_text("utf-8"))
    del scenario["agent"]

    outcomes, exchanges = recorded(read_scenario(scenario), Scrubber())

    assert outcomes == ("hi", "hi")
    assert [each.request.url for each in exchanges] == [
        "http://scripted.test/agent1/v1/chat/completions",
        "http://scripted.test/v1/chat/completions",
    ]


def tools_sent(scenario):
    """Return the tool messages of the last request."""
    _, exchanges = recorded(read_scenario(scenario), Scrubber())
    sent = json.loads(exchanges[-1].request.body)["messages"]
    return [each["content"] for each in sent if each["role"] == "tool"]


def test_tools_answer_as_a_scenario_says() -> None:
    tools = [
        {"name": "a", "result": "got <args>"},
        {"name": "b", "kind": "streamable", "chunks": ["x", "y"]},
        {"name": "c", "error": "boom"},
        {"name": "d", "by_call": {"4": ["once", "then"]}},
    ]
    calls = "assistant:[1:a({})][2:b({})][3:c({})][4:d({})][5:e({})]"
    scenario = {
        "agent": {"tools": tools},
        "model_script": [calls, "assistant:[4:d({})]", "assistant:done"],
        "runs": [{"input": ["user:hi"]}],
    }

    assert tools_sent(scenario) == [
        *("got {}", "xy", "error: boom", "once", "error: there is no tool 'e'"),
        "then",
    ]


def test_a_run_ends_when_no_iteration_is_left() -> None:
    scenario = {
        "agent": {"max_iterations": 2},
        "model_script": ["assistant:[1:a({})]"],
        "script_end": "repeat_last",
        "runs": [{"input": ["user:hi"]}],
    }

    outcomes, exchanges = recorded(read_scenario(scenario), Scrubber())

    assert (outcomes, len(exchanges)) == (("no iteration is left",), 2)


@pytest.mark.parametrize(
    ("scenario", "place"),
    [
        ({"agent": {"handlers": [{}]}}, "agents[0].handlers"),
        ({"agent": {"tools": [{"name": "t", "at_most_once": True}]}}, "at_most_once"),
        ({"agent": {}, "runs": [{"options": {"a": 1}}]}, "runs[0].options"),
    ],
)
def test_what_a_client_does_not_do_is_refused(scenario, place) -> None:
    with pytest.raises(NotPlayableError) as caught:
        recorded(read_scenario(scenario), Scrubber())

    assert caught.value.where.endswith(place)


def test_a_scenario_without_runs_is_refused(tmp_path) -> None:
    path = tmp_path / "cassettes" / "a.yaml"

    with pytest.raises(NothingToPlayError):
        record(file_of(tmp_path), path, day=DAY)
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["a.txt", "a", ".a.yaml"])
def test_a_name_that_no_manifest_can_have_is_refused(tmp_path, name) -> None:
    source = file_of(tmp_path, runs=[{"input": ["user:hi"]}])

    with pytest.raises(CassetteNameError):
        record(source, tmp_path / name, day=DAY)
    assert not (tmp_path / NAME).exists()
