"""``cassette proxy`` and ``serve``: a real program's session, recorded and replayed.

The programs are official clients, the vendors servers of ours, and both are processes
or threads of their own behind real sockets.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import permutations

import httpx2
import pytest
from openai import BadRequestError, OpenAI, RateLimitError

from compat.models.importing import import_file
from compat.wire.cassette_files import read_cassette
from compat.wire.errors import (
    MismatchError,
    RecordingError,
    ScrubbingError,
)
from compat.wire.matching import recording_of
from compat.wire.recording import ProxyRecorder, secrets_named
from compat.wire.server.passing import (
    PassedExchange,
    PassingServer,
    TargetError,
    target_of,
)
from compat.wire.server.replaying import ReplayServer
from compat.wire.server.scripted import ScriptedServer
from compat.wire.writing import AppendedCassette
from refengine.testing.scenario_files import read_scenario
from tests.wire_support import serving

KEY = "the-key-of-this-program-1234"
USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}


@contextmanager
def proxied(to, path, heard=lambda _: None, **options):
    """Record into a file while the block runs; yield base URL and lines said."""
    said = []
    recorder = ProxyRecorder(AppendedCassette(path, **options), said.append)

    def hear(each):
        recorder.hear(each)
        heard(each)

    with PassingServer(to, hear) as server:
        yield server.base_url, said
    recorder.end()


@contextmanager
def asking(url):
    with OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        yield client


def session(url):
    """Have a session of two turns: one streamed, one with a call."""
    with asking(url) as client:
        stream = client.chat.completions.create(
            model="m", messages=[USER], stream=True, tools=[TOOL]
        )
        pieces = [each.choices[0].delta.content for each in stream if each.choices]
        text = "".join(each or "" for each in pieces)
        again = [USER, {"role": "assistant", "content": text}, USER]
        whole = client.chat.completions.create(model="m", messages=again, tools=[TOOL])
    calls = whole.model_dump()["choices"][0]["message"]["tool_calls"]
    return text, calls[0]["function"]["name"]


@pytest.fixture
def vendor():
    script = ["assistant:hello you", "assistant:[c1:look({})]", "assistant:three"]
    world = {"agent": {}, "model_script": script}
    with ScriptedServer(read_scenario(world)) as server:
        yield server


def test_session_through_the_proxy_is_the_session_and_replays(vendor, tmp_path) -> None:
    path = tmp_path / "session.yaml"
    with proxied(vendor.base_url, path) as (url, said):
        there = session(url)
    replay = ReplayServer(recording_of(path), said.append)
    with replay:
        again = session(replay.base_url)
    replay.playback.assert_played()

    assert there == again == ("hello you", "look")
    assert said == []
    assert replay.base_url.endswith("/v1")
    assert KEY not in path.read_text("utf-8")


def test_streams_pass_before_they_have_ended(tmp_path) -> None:
    """The vendor sends its second event only when the first one has been read."""
    read = threading.Event()
    first, second = b'data: {"n": 1}\n\n', b"data: [DONE]\n\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    path = tmp_path / "stream.yaml"

    def serve(listening):
        with listening.accept()[0] as there:
            there.recv(65_536)
            size = len(first) + len(second)
            there.sendall(head + f"content-length: {size}\r\n\r\n".encode() + first)
            assert read.wait(30)
            there.sendall(second)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        vendor = threading.Thread(target=serve, args=(listening,))
        vendor.start()
        to = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with (
            proxied(to, path) as (url, said),
            httpx2.stream("POST", f"{url}/v1/chat/completions", json={}) as answer,
        ):
            pieces = answer.iter_raw()
            assert next(pieces) == first
            read.set()
            assert b"".join(pieces) == second
        vendor.join()

    assert said == []
    assert read_cassette(path)[0].response.body == first + second


def test_connection_that_the_vendor_breaks_off_is_broken_off_again(tmp_path) -> None:
    path = tmp_path / "cut.yaml"
    events = {"content-type": "text/event-stream"}
    with (
        serving((200, events, b"data: {}\n\n", 500)) as to,
        proxied(to, path) as (url, _),
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        httpx2.post(f"{url}/v1/messages", json={})
    with ReplayServer(recording_of(path), print) as replay:
        with pytest.raises(httpx2.RemoteProtocolError):
            httpx2.post(f"{replay.root}/v1/messages", json={})
        replay.playback.assert_played()

    assert read_cassette(path)[0].response.cut


def test_what_clients_act_on_is_recorded_with_errors(tmp_path) -> None:
    limits = {
        "content-type": "application/json",
        "retry-after": "7",
        "x-ratelimit-remaining-requests": "0",
        "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:00Z",
        "openai-organization": "org-1234567890abcdef",
    }
    path = tmp_path / "limited.yaml"
    error = json.dumps({"error": {"message": "slow down"}}).encode()
    with (
        serving((429, limits, error)) as to,
        proxied(to, path) as (url, _),
        asking(url) as client,
        pytest.raises(RateLimitError) as caught,
    ):
        client.chat.completions.create(model="m", messages=[USER])
    kept = read_cassette(path)[0].response.headers

    assert caught.value.response.headers["retry-after"] == "7"
    assert kept["retry-after"] == ("7",)
    assert kept["x-ratelimit-remaining-requests"] == ("0",)
    assert kept["anthropic-ratelimit-tokens-reset"] == ("2026-01-01T00:00:00Z",)
    assert "openai-organization" not in kept


def test_packed_answers_are_handed_over_as_they_are_and_written_plain(tmp_path) -> None:
    from gzip import compress

    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    path = tmp_path / "packed.yaml"
    with (
        serving((200, packed, compress(b'{"said": "a plain text"}'))) as to,
        proxied(to, path) as (url, _),
    ):
        assert httpx2.get(f"{url}/v1/models").json() == {"said": "a plain text"}

    assert "a plain text" in path.read_text("utf-8")


def test_first_request_that_differs_is_told_to_program_and_user(
    vendor, tmp_path
) -> None:
    path, said = tmp_path / "session.yaml", []
    with proxied(vendor.base_url, path) as (url, _):
        session(url)
    with (
        ReplayServer(recording_of(path), said.append) as replay,
        asking(replay.base_url) as client,
    ):
        for _ in range(2):
            with pytest.raises(BadRequestError, match="they differ first at"):
                client.chat.completions.create(model="m", messages=[USER], tools=[TOOL])

    assert len(said) == 1
    assert "request 1 is not interaction 1 of session.yaml" in said[0]
    with pytest.raises(MismatchError):
        replay.playback.assert_played()


def test_recorded_session_is_a_world(vendor, tmp_path) -> None:
    path = tmp_path / "session.yaml"
    with proxied(vendor.base_url, path) as (url, _):
        session(url)
    (world,) = import_file(path).worlds

    assert len(world.scenario.model_script) == 3
    assert [len(each.input) for each in world.scenario.runs] == [1, 1]


def test_exchange_is_written_when_it_ends_beside_one_that_has_not(tmp_path) -> None:
    """The vendor answers the first request only when the second one was answered."""
    path = tmp_path / "two.yaml"

    async def both(to):
        with proxied(to, path, heard) as (url, _):
            async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
                one = asyncio.create_task(client.post(f"{url}/one", json={}))
                await asyncio.to_thread(begun.wait, 30)
                await client.post(f"{url}/two", json={})
                await asyncio.to_thread(written.wait, 30)
                assert len(read_cassette(path)) == 1
                done.set()
                await one

    def heard(each):
        if isinstance(each, PassedExchange):
            written.set()

    begun, done, written = (threading.Event() for _ in range(3))
    with listening_in_turn(begun, done) as to:
        asyncio.run(both(to))

    found = read_cassette(path)
    urls = [each.request.url.rpartition("/")[2] for each in found]
    assert urls == ["two", "one"]
    assert [each.after for each in found] == [None, 0]
    for order in permutations(urls):
        with ReplayServer(recording_of(path), print) as replay:
            for each in order:
                assert httpx2.post(f"{replay.root}/{each}", json={}).status_code == 200
        replay.playback.assert_played()


def test_nobody_waits_while_the_exchange_of_another_is_looked_through(vendor) -> None:
    held, answered = threading.Event(), threading.Event()

    def hear(each):
        if isinstance(each, PassedExchange) and each.number == 1:
            held.set()
            assert answered.wait(30)

    with PassingServer(vendor.base_url, hear) as proxy:
        first = threading.Thread(target=httpx2.get, args=[f"{proxy.base_url}/models"])
        first.start()
        assert held.wait(30)
        httpx2.get(f"{proxy.base_url}/models")
        answered.set()
        first.join()


def test_proxy_ends_with_what_could_not_be_heard(vendor) -> None:
    """Else a recording would lack exchanges that nobody counts."""

    def hear(each):
        raise MemoryError(each.number)

    proxy = PassingServer(vendor.base_url, hear)
    with pytest.raises(MemoryError, match="1"), proxy:
        httpx2.get(f"{proxy.base_url}/models")


def test_requests_wait_where_very_much_is_not_yet_heard(vendor, monkeypatch) -> None:
    """What waits is held in memory, so it has a bound."""
    monkeypatch.setattr("compat.wire.server.passing.BEHIND", 2)
    goes_on, seen = threading.Event(), []

    def hear(each):
        assert goes_on.wait(30)
        seen.append(each)

    with PassingServer(vendor.base_url, hear) as proxy:
        httpx2.get(f"{proxy.base_url}/models")
        later = threading.Thread(target=httpx2.get, args=[f"{proxy.base_url}/models"])
        later.start()
        with pytest.raises(httpx2.TimeoutException):
            httpx2.get(f"{proxy.base_url}/models", timeout=0.2)
        goes_on.set()
        later.join()
    assert len(seen) == 6


@contextmanager
def listening_in_turn(begun, done):
    """Serve two requests; the first one is held until ``done``."""

    def first(there):
        begun.set()
        assert done.wait(30)
        answer(there)

    def answer(there):
        with there:
            there.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    def serve(listening):
        there = listening.accept()[0]
        there.recv(65_536)
        held = threading.Thread(target=first, args=(there,))
        held.start()
        there = listening.accept()[0]
        there.recv(65_536)
        answer(there)
        held.join()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_vendor_that_cannot_be_asked_is_told_and_not_recorded(tmp_path) -> None:
    path = tmp_path / "none.yaml"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        to = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with proxied(to, path) as (url, said):
        answer = httpx2.post(f"{url}/v1/responses", json={})

    assert answer.status_code == 502
    assert "the vendor cannot be asked (ConnectError)" in answer.text
    assert said[0].startswith("request 1 is not in the file: ConnectError")
    assert not path.exists()


def test_recording_without_a_request_is_refused(tmp_path) -> None:
    with (
        pytest.raises(RecordingError, match="no request"),
        proxied("https://api.example/v1", tmp_path / "nothing.yaml"),
    ):
        pass


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("api.openai.com/v1", "is not an address of HTTP"),
        ("ftp://files.example", "is not an address of HTTP"),
        ("http://[::1", "is not an address"),
        ("https://me:pass@api.example/v1", "has a user"),
        ("https://api.example/v1?key=abc", "a query"),
    ],
)
def test_address_that_is_no_base_url_is_told(to, told) -> None:
    with pytest.raises(TargetError, match=told) as caught:
        target_of(to)

    assert "pass" not in str(caught.value)


def test_file_that_is_there_or_cannot_grow_is_not_recorded_into(tmp_path) -> None:
    path = tmp_path / "there.yaml"
    path.write_text("mine", "utf-8")
    with pytest.raises(RecordingError, match="is there already"):
        AppendedCassette(path)
    with pytest.raises(RecordingError, match="cannot grow"):
        AppendedCassette(tmp_path / "session.json")

    assert path.read_text("utf-8") == "mine"


def test_variable_of_a_secret_has_to_hold_one() -> None:
    assert secrets_named(["A"], {"A": "value"}) == ["value"]
    with pytest.raises(ScrubbingError, match="the variable B is not set"):
        secrets_named(["B"], {"B": ""})


@contextmanager
def command(*arguments, **env):
    """Start ``refengine cassette``; yield the process and the first line it says."""
    line = [sys.executable, "-m", "refengine", "cassette", *map(str, arguments)]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def ended(process):
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    return process.returncode, out + errors


def test_commands_record_a_session_and_replay_it(vendor, tmp_path) -> None:
    path = tmp_path / "session.yaml"
    options = ("--to", vendor.base_url, "--out", path, "--secret-env", "NAME_OF_MINE")
    with command("proxy", *options, NAME_OF_MINE="hello you") as (process, url):
        session(url)
        recorded = ended(process)
    with command("serve", path) as (process, url):
        replayed = session(url)
        played = ended(process)
    with command("serve", path) as (process, url):
        early = ended(process)

    assert recorded == (0, "2 exchanges in session.yaml\n")
    assert "hello you" not in path.read_text("utf-8")
    assert replayed == ("SCRUBBED", "look")
    assert played == (0, "2 interactions played, none left\n")
    assert early[0] == 1
    assert "not all interactions of session.yaml were played, only 0 of 2" in early[1]


def test_value_that_was_taken_out_by_name_is_named_again(vendor, tmp_path) -> None:
    path = tmp_path / "session.yaml"
    named = ("--secret-env", "NAME_OF_MINE")
    mine = {"NAME_OF_MINE": "what to look for"}
    to = ("--to", vendor.base_url, "--out", path)

    def ask(url):
        said = {"role": "user", "content": "what to look for"}
        with asking(url) as client:
            client.chat.completions.create(model="m", messages=[said])

    with command("proxy", *to, *named, **mine) as (process, url):
        ask(url)
        recorded = ended(process)
    with command("serve", path, *named, **mine) as (process, url):
        ask(url)
        played = ended(process)
    with command("serve", path) as (process, url):
        with pytest.raises(BadRequestError, match="name it here as well"):
            ask(url)
        unnamed = ended(process)

    assert (recorded[0], played[0], unnamed[0]) == (0, 0, 1)


def test_command_refuses_an_option_that_a_cassette_has_not(tmp_path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text("version: 1", "utf-8")
    with command("serve", path, "--model", "m") as (process, _):
        code, told = ended(process)

    assert code == 2
    assert "--model is of a scenario: leave it out" in told
