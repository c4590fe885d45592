"""Cassettes of all four interfaces: the proxy's play in vcrpy, and vcrpy's in ours."""

import httpx2
import pytest
import vcr  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from compat.models.importing import import_file
from compat.wire.cassette_files import read_cassette
from compat.wire.matching import recording_of
from compat.wire.recording import ProxyRecorder
from compat.wire.server.passing import PassingServer
from compat.wire.server.programs import ProgramServer
from compat.wire.server.replaying import ReplayServer
from compat.wire.transport import ReplayTransport
from compat.wire.writing import AppendedCassette
from refengine.testing.scenario_files import read_scenario

USER = [{"role": "user", "content": "hi"}]
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
SCRIPT = ["assistant:hello you", "assistant:look[c1:look({})]", {"error": "HTTP 400"}]
ASKED = {
    "chat": ("v1/chat/completions", {"model": "m", "messages": USER}),
    "responses": ("v1/responses", {"model": "m", "input": "hi"}),
    "anthropic": ("v1/messages", {"model": "m", "max_tokens": 9, "messages": USER}),
    "gemini": ("v1beta/models/m:generateContent", GEMINI),
}


@pytest.fixture
def vendor():
    """Serve one answer, one with a call that is streamed, and a refusal."""
    with ProgramServer() as server:
        key = server.key()
        world = {"agent": {}, "model_script": SCRIPT}
        server.begin(key, read_scenario(world), lambda _: None)
        yield f"{server.root}/{key}"


def session(root, interface):
    """Ask three times; return status and body of each answer."""
    path, body = ASKED[interface]
    streamed = path.replace(":generate", ":streamGenerate") + (
        "?alt=sse" if interface == "gemini" else ""
    )
    streaming = body if interface == "gemini" else {**body, "stream": True}
    with httpx2.Client(trust_env=False) as client:
        answers = [
            client.post(f"{root}/{path}", json=body),
            client.post(f"{root}/{streamed}", json=streaming),
            client.post(f"{root}/{path}", json=body),
        ]
    return [(each.status_code, each.content) for each in answers]


@pytest.mark.parametrize("interface", ASKED)
def test_cassette_of_the_proxy_plays_in_vcrpy(vendor, interface, tmp_path) -> None:
    path = tmp_path / "session.yaml"
    recorder = ProxyRecorder(AppendedCassette(path), print)
    with PassingServer(vendor, recorder.hear) as proxy:
        there = session(proxy.base_url, interface)
    recorder.end()
    matching = ("method", "uri", "body")
    with vcr.VCR(record_mode="none", match_on=matching).use_cassette(str(path)) as tape:
        again = session(vendor, interface)

    assert [status for status, _ in there] == [200, 200, 400]
    assert again == there
    assert tape.all_played
    assert import_file(path).worlds


@pytest.mark.parametrize("interface", ASKED)
def test_cassette_of_vcrpy_plays_in_ours(vendor, interface, tmp_path) -> None:
    path = tmp_path / "session.yaml"
    with vcr.VCR(record_mode="all").use_cassette(str(path)):
        there = session(vendor, interface)
    recording = recording_of(path)
    with ReplayServer(recording, print) as replay:
        served = session(f"{replay.root}/{vendor.rpartition('/')[2]}", interface)
        replay.playback.assert_played()
    transport = ReplayTransport(recording)
    with httpx2.Client(transport=transport) as client:
        played = [
            client.request(
                each.request.method,
                each.request.url,
                content=each.request.body,
                headers={"content-type": "application/json"},
            )
            for each in read_cassette(path)
        ]

    assert served == there
    assert [(each.status_code, each.content) for each in played] == there
    assert import_file(path).worlds
