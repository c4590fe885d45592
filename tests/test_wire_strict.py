"""vcrpy under our settings: each pitfall of its own has a test here or beside it."""

import asyncio
import contextlib
import json
import logging
import threading
import time

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.wire.cassette_files import read_cassette
from compat.wire.errors import (
    CassetteError,
    ExtraRequestError,
    LeakError,
    MismatchError,
    NotAllPlayedError,
    OpenCassetteError,
    RecordingError,
    WireError,
)
from compat.wire.exchanges import Exchange, Request, Response
from compat.wire.scrubbing import Scrubber
from compat.wire.strict import strict_cassette
from tests.wire_support import (
    EVENTS,
    JSON,
    URL,
    body,
    exchange,
    hiding,
    inside,
    post,
    raising,
    request,
    serving,
    three,
    written,
)

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "hello"},
        }
    ],
}
KEY = "key-of-the-one-who-records"


@pytest.fixture
def cassette(tmp_path):
    return written(tmp_path / "three.yaml", three())


@pytest.fixture
def client():
    with httpx2.Client() as found:
        yield found


def get(url):
    with httpx2.Client(trust_env=False) as client:
        return client.get(url)


def asked(client, *said):
    return [post(client, each).json()["answer"] for each in said]


def test_session_is_replayed(cassette, client):
    with strict_cassette(cassette) as session:
        assert asked(client, "one", "two", "three") == ["ONE", "TWO", "THREE"]
        assert session.exchanges == tuple(three())


def test_request_with_another_body_is_refused(cassette, client):
    with pytest.raises(MismatchError) as caught, strict_cassette(cassette):
        post(client, "one, please")

    error = caught.value
    assert (error.file, error.number) == ("three.yaml", 1)
    assert error.difference.path == "body.json.messages[0].content"
    assert 'recorded: "one"' in str(error)
    assert 'sent:     "one, please"' in str(error)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (URL + "/x", "url.path[4]"),
        (URL + "?a=1", "url.query.a"),
        (URL.replace("api", "ipa"), "url.host"),
        (URL.replace("https", "http"), "url.port"),
    ],
)
def test_request_to_another_address_is_refused(cassette, client, url, path):
    with pytest.raises(MismatchError) as caught, strict_cassette(cassette):
        post(client, "one", url)

    assert caught.value.difference.path == path


def test_request_out_of_turn_is_refused_and_told_its_place(cassette, client):
    with pytest.raises(MismatchError) as caught, strict_cassette(cassette):
        asked(client, "one", "three")

    assert (caught.value.number, caught.value.matches) == (2, [3])
    assert "It matches interaction 3" in str(caught.value)


def test_session_that_ends_early_is_refused(cassette, client):
    with pytest.raises(NotAllPlayedError) as caught, strict_cassette(cassette):
        asked(client, "one")

    assert caught.value.played == 1
    assert "three.yaml were played, only 1 of 3" in str(caught.value)
    assert "\n  2. POST https://api.example/v1/chat/completions\n  3. " in str(
        caught.value
    )


def test_session_in_which_nothing_is_asked_is_refused(cassette):
    with pytest.raises(NotAllPlayedError), strict_cassette(cassette):
        pass


def test_request_too_many_is_refused(cassette, client):
    with pytest.raises(ExtraRequestError, match="request 4 is one too many"):  # noqa: SIM117  # what raises is inside
        with strict_cassette(cassette):
            asked(client, "one", "two", "three", "three")


def test_same_request_twice_gets_its_two_answers_in_order(tmp_path, client):
    path = written(tmp_path / "a.yaml", [exchange(answer="a"), exchange(answer="b")])

    with strict_cassette(path):
        assert asked(client, "hi", "hi") == ["a", "b"]


@pytest.mark.parametrize("value", [1, 1.0, True, "1"])
def test_types_of_a_body_are_strict(tmp_path, client, value):
    for other in (1, 1.0, True, "1"):
        path = written(tmp_path / "a.yaml", [exchange(n=value)])
        if type(other) is type(value):
            with strict_cassette(path):
                post(client, n=other)
        else:
            with pytest.raises(MismatchError), strict_cassette(path):
                post(client, n=other)


def test_arguments_match_by_their_meaning(tmp_path, client):
    def called(arguments):
        function = {"name": "f", "arguments": arguments}
        return [{"role": "assistant", "tool_calls": [{"function": function}]}]

    path = written(tmp_path / "a.yaml", [exchange(messages=called('{"a": 1, "b": 2}'))])

    with strict_cassette(path):
        post(client, messages=called('{"b":2,"a":1}'))
    with pytest.raises(MismatchError) as caught, strict_cassette(path):
        post(client, messages=called('{"b":2,"a":1.0}'))
    assert caught.value.difference.path.endswith("function.arguments.a")


def test_json_of_another_kind_is_compared_by_its_meaning(tmp_path, client):
    kind = {"content-type": "application/vnd.api+json"}
    headers = {name: (value,) for name, value in kind.items()}
    path = written(
        tmp_path / "a.yaml",
        [Exchange(Request("POST", URL, headers, b'{"a": 1}'), Response(200))],
    )

    with strict_cassette(path):
        client.post(URL, content=b'{"a":1}', headers=kind)


def test_error_is_raised_on_leaving_if_a_client_wraps_it(cassette, client):
    wrapped = hiding(lambda: post(client, "other"), RuntimeError("Connection error."))

    with pytest.raises(MismatchError) as caught:
        inside(strict_cassette(cassette), wrapped)

    assert caught.value.__notes__ == ["The client turned this error into RuntimeError"]
    assert caught.value.__cause__ is None


def test_error_is_raised_on_leaving_if_a_test_catches_it(cassette, client):
    def caught():
        with contextlib.suppress(WireError):
            post(client, "other")

    with pytest.raises(MismatchError):
        inside(strict_cassette(cassette), caught)


def test_request_after_a_refused_one_gets_the_same_error(cassette, client):
    errors = []

    def refused(said):
        with pytest.raises(MismatchError) as caught:
            post(client, said)
        errors.append(caught.value)

    with pytest.raises(MismatchError) as caught:
        inside(
            strict_cassette(cassette), lambda: refused("other"), lambda: refused("one")
        )

    assert errors == [caught.value, caught.value]


def test_error_of_a_test_is_not_replaced_by_what_was_left(cassette, client):
    with pytest.raises(ZeroDivisionError):
        inside(
            strict_cassette(cassette),
            lambda: post(client, "one"),
            raising(ZeroDivisionError()),
        )


def test_end_of_a_process_is_not_replaced(cassette, client):
    def refused():
        with pytest.raises(MismatchError):
            post(client, "other")

    with pytest.raises(KeyboardInterrupt):
        inside(strict_cassette(cassette), refused, raising(KeyboardInterrupt()))


def openai_client(base="https://api.example/v1", key=KEY, **more):
    direct = httpx2.Client(trust_env=False)
    return openai.OpenAI(base_url=base, api_key=key, http_client=direct, **more)


def chat(client, content="hi", **more):
    messages = [{"role": "user", "content": content}]
    return client.chat.completions.create(model="m", messages=messages, **more)


def chatted(tmp_path, *responses):
    given = body(messages=[{"role": "user", "content": "hi"}], model="m")
    return written(
        tmp_path / "chat.yaml",
        [Exchange(Request("POST", URL, JSON, given), each) for each in responses],
    )


def test_official_client_replays_and_is_told_of_a_mismatch(tmp_path):
    path = chatted(tmp_path, Response(200, "OK", JSON, json.dumps(CHAT).encode()))

    with strict_cassette(path), openai_client() as client:
        assert chat(client).choices[0].message.content == "hello"
    with pytest.raises(MismatchError), strict_cassette(path), openai_client() as client:
        chat(client, "other")


@pytest.mark.parametrize(
    "waiting",
    [
        {"retry-after": ("3",)},
        {"retry-after-ms": ("3000",)},
        {"retry-after": ("Fri, 01 Jan 2100 00:00:00 GMT",)},
        {},
    ],
)
@pytest.mark.parametrize("status", [429, 503, 408])
def test_recorded_waiting_time_is_not_waited_for(
    tmp_path, monkeypatch, waiting, status
):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    path = chatted(
        tmp_path,
        Response(status, "", {**JSON, **waiting}, b"{}"),
        Response(200, "OK", JSON, json.dumps(CHAT).encode()),
    )

    with strict_cassette(path), openai_client(max_retries=1) as client:
        assert chat(client).choices[0].message.content == "hello"

    assert len(slept) == 1
    assert slept[0] < 0.001


def test_file_keeps_the_recorded_waiting_time(tmp_path):
    headers = {**JSON, "retry-after": ("3",)}
    path = chatted(tmp_path, Response(429, "", headers, b"{}"))

    [found] = read_cassette(path)

    assert found.response.headers["retry-after"] == ("3",)


def test_reset_times_of_a_rate_limit_are_past(tmp_path, client):
    headers = {**JSON, "x-ratelimit-reset-tokens": ("6m0s",)}
    scrubber = Scrubber(keep_headers=["x-ratelimit-reset-tokens"])
    given = Exchange(request(), Response(200, "OK", headers, b"{}"))
    path = written(tmp_path / "a.yaml", [given], scrubber)

    with strict_cassette(path):
        assert post(client).headers["x-ratelimit-reset-tokens"] == "0"


def test_stream_is_replayed_whole(tmp_path, client):
    text = "data: ü\n\ndata: [DONE]\n\n"
    given = Exchange(request(), Response(200, "OK", EVENTS, text.encode()))
    path = written(tmp_path / "a.yaml", [given])

    with strict_cassette(path), client.stream("POST", URL, **sent()) as response:
        assert "".join(response.iter_text()) == text


def sent():
    return {"content": request().body, "headers": {"content-type": "application/json"}}


def test_asynchronous_client_is_replayed(cassette):
    async def main():
        async with httpx2.AsyncClient() as client:
            for said in ("one", "two", "three"):
                response = await client.post(
                    URL,
                    content=request(said).body,
                    headers={"content-type": "application/json"},
                )
                assert response.json() == {"answer": said.upper()}

    with strict_cassette(cassette):
        asyncio.run(main())


def test_only_one_cassette_is_open_in_a_process(cassette, tmp_path, client):
    other = written(tmp_path / "other.yaml", three())

    with strict_cassette(cassette):
        with pytest.raises(OpenCassetteError, match=r"other\.yaml cannot be opened"):  # noqa: SIM117  # what raises is inside
            with strict_cassette(other):
                pass
        with pytest.raises(OpenCassetteError):  # noqa: SIM117  # what raises is inside
            with strict_cassette(tmp_path / "new.yaml", record=True):
                pass
        asked(client, "one", "two", "three")


def test_second_cassette_is_refused_in_another_thread_too(cassette, client):
    errors = []

    def opened():
        try:
            with strict_cassette(cassette):
                pass
        except WireError as error:
            errors.append(type(error))

    with strict_cassette(cassette):
        thread = threading.Thread(target=opened)
        thread.start()
        thread.join()
        asked(client, "one", "two", "three")

    assert errors == [OpenCassetteError]


@pytest.mark.parametrize("end", [NotAllPlayedError, ValueError, MismatchError])
def test_transports_are_put_back_however_a_cassette_is_left(cassette, client, end):
    before = httpx2.HTTPTransport.handle_request
    steps = {
        NotAllPlayedError: [],
        ValueError: [raising(ValueError())],
        MismatchError: [lambda: post(client, "other")],
    }

    with pytest.raises(end):
        inside(strict_cassette(cassette), *steps[end])

    assert httpx2.HTTPTransport.handle_request is before
    with strict_cassette(cassette):
        asked(client, "one", "two", "three")


def test_transports_are_put_back_if_a_recording_is_refused(tmp_path, monkeypatch):
    before = httpx2.HTTPTransport.handle_request
    monkeypatch.setattr(Scrubber, "exchange", lambda _, each: each)

    with serving((200, {}, KEY.encode())) as url, pytest.raises(LeakError):  # noqa: SIM117  # what raises is inside
        with strict_cassette(
            tmp_path / "a.yaml", record=True, scrubber=Scrubber([KEY])
        ):
            get(url)

    assert httpx2.HTTPTransport.handle_request is before
    assert list(tmp_path.iterdir()) == []


def test_cassette_inside_a_property_is_opened_for_each_example(cassette):
    seen = []

    @settings(max_examples=5, database=None, deadline=None)
    @given(st.booleans())
    def check(example):
        with strict_cassette(cassette), httpx2.Client() as client:
            seen.append(asked(client, "one", "two", "three"))

    check()

    assert len(seen) > 1
    assert all(each == ["ONE", "TWO", "THREE"] for each in seen)


def test_nothing_is_recorded_without_being_asked_for(tmp_path, client):
    path = tmp_path / "new.yaml"

    with pytest.raises(CassetteError, match="no such"), strict_cassette(path):
        pass

    assert not path.exists()


def test_recorded_file_is_not_written_over_by_accident(cassette):
    before = cassette.read_bytes()

    with pytest.raises(RecordingError, match="overwrite=True"):  # noqa: SIM117  # what raises is inside
        with strict_cassette(cassette, record=True):
            pass

    assert cassette.read_bytes() == before


def test_file_is_recorded_anew_when_asked_to(cassette):
    with (
        serving((200, {"content-type": "text/plain"}, b"new")) as url,
        strict_cassette(cassette, record=True, overwrite=True),
    ):
        get(url)

    [found] = read_cassette(cassette)
    assert found.response.body == b"new"


def test_recording_without_a_request_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="no request"):  # noqa: SIM117  # what raises is inside
        with strict_cassette(tmp_path / "new.yaml", record=True):
            pass

    assert list(tmp_path.iterdir()) == []


def test_session_that_fails_is_not_recorded(tmp_path):
    session = strict_cassette(tmp_path / "new.yaml", record=True)
    with serving((200, {}, KEY.encode())) as url, pytest.raises(ZeroDivisionError):
        inside(session, lambda: get(url), raising(ZeroDivisionError()))

    assert list(tmp_path.iterdir()) == []


def test_stream_that_the_server_cuts_is_not_recorded(tmp_path):
    answer = (200, {"content-type": "text/event-stream"}, b"data: 1\n\n", 99)
    with serving(answer) as url, pytest.raises(httpx2.RemoteProtocolError):  # noqa: SIM117  # what raises is inside
        with strict_cassette(tmp_path / "new.yaml", record=True):
            get(url)

    assert list(tmp_path.iterdir()) == []


def test_recorded_session_holds_no_secret_and_replays_with_another_key(tmp_path):
    import gzip

    path = tmp_path / "new.yaml"
    cookie = f"__cf_bm={KEY}; path=/"
    more = {"set-cookie": cookie, "openai-organization": "org-mine", "x-echo": KEY}
    echoed = {**CHAT, "echo": KEY, "choices": CHAT["choices"]}
    packed = gzip.compress(json.dumps(echoed).encode())
    answers = [
        (200, {"content-type": "application/json", **more}, b'{"error": "no"}'),
        (
            200,
            {"content-type": "application/json", "content-encoding": "gzip", **more},
            packed,
        ),
    ]
    with serving(*answers[1:], answers[0]) as url:
        base = f"{url}/v1"
        with strict_cassette(path, record=True, scrubber=Scrubber([KEY])):
            talk(openai_client(base), KEY)

    data = path.read_bytes()
    for told in (KEY, KEY.upper(), "org-mine", "cf_bm", "uthorization", "stainless"):
        assert told.encode() not in data
    other = "some-other-key-to-replay"
    with strict_cassette(path, scrubber=Scrubber([other])):
        client = openai_client(base, other, max_retries=0)
        talk(client, other)


def talk(client, key):
    with client:
        assert chat(client, f"my key is {key}").choices
        client.post("/raw", cast_to=object, body={"key": f"Bearer {key}"})


def test_errors_show_no_secret(tmp_path, client):
    path = written(
        tmp_path / "a.yaml", [exchange(f"first {KEY}")], Scrubber([KEY, "other-key-1"])
    )
    scrubber = Scrubber([KEY, "other-key-1"])

    with (
        pytest.raises(MismatchError) as caught,
        strict_cassette(path, scrubber=scrubber),
    ):
        post(client, "second other-key-1", f"{URL}?key=other-key-1")

    assert "other-key-1" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_difference_in_a_scrubbed_value_is_told_without_it(tmp_path, client):
    recorded, other = {"password": "mellon"}, {"password": "radiance"}
    path = tmp_path / "a.json"
    tree = {
        "request": {
            "method": "POST",
            "uri": URL,
            "headers": {"content-type": "application/json"},
            "body": request(**recorded).body.decode(),
        },
        "response": {"status": {"code": 200}, "headers": {}, "body": {"string": ""}},
    }
    path.write_text(json.dumps({"version": 1, "interactions": [tree]}), "utf-8")

    with strict_cassette(path):
        post(client, **recorded)
    with pytest.raises(MismatchError) as caught, strict_cassette(path):
        post(client, **other)
    assert "a value that is scrubbed" in str(caught.value)
    assert "radiance" not in str(caught.value)
    assert "mellon" not in str(caught.value)


def test_recorder_logs_nothing_of_a_session(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with serving((200, {}, KEY.encode())) as url:  # noqa: SIM117  # two things
        with strict_cassette(
            tmp_path / "a.yaml", record=True, scrubber=Scrubber([KEY])
        ):
            get(url)

    assert not [each for each in caplog.records if each.name.startswith("vcr")]
