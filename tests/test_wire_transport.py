"""Our own transport plays what vcrpy plays, for any number of sessions at once."""

import asyncio
import json
import threading
import time
from dataclasses import replace
from functools import partial

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.wire.cassette_files import read_cassette
from compat.wire.errors import (
    CassetteError,
    DeliveryError,
    ExtraRequestError,
    MismatchError,
    NotAllPlayedError,
)
from compat.wire.exchanges import Exchange, Response
from compat.wire.manifest import read_manifest
from compat.wire.matching import ready, recording_of
from compat.wire.scrubbing import Scrubber
from compat.wire.strict import strict_cassette
from compat.wire.transport import Delivery, ReplayTransport, rechunked
from tests.wire_support import (
    EVENTS,
    JSON,
    ROOT,
    URL,
    corpus,
    exchange,
    hiding,
    inside,
    plain,
    post,
    replayed,
    request,
    three,
)

TEXT = "data: ü😀 one\n\ndata: two\r\n\r\ndata: [DONE]\n\n"
STREAM = Exchange(request(), Response(200, "OK", EVENTS, TEXT.encode()))


def test_session_is_replayed_in_order():
    transport, client = replayed(three())

    with transport, client:
        assert [post(client, each).json() for each in ("one", "two", "three")] == [
            {"answer": "ONE"},
            {"answer": "TWO"},
            {"answer": "THREE"},
        ]
        assert transport.played == 3
        assert transport.requests[2].body == request("three").body


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (["two"], MismatchError),
        (["one", "three"], MismatchError),
        (["one", "two", "three", "three"], ExtraRequestError),
    ],
)
def test_what_is_not_the_next_request_is_refused(said, error):
    transport, client = replayed(three())

    with pytest.raises(error):
        inside(transport, *(partial(post, client, each) for each in said))


@pytest.mark.parametrize("close", ["client", "transport", "assert_played"])
def test_session_that_ends_early_is_refused(close):
    transport, client = replayed(three())
    post(client, "one")

    with pytest.raises(NotAllPlayedError, match="only 1 of 3"):
        {
            "client": client.close,
            "transport": transport.close,
            "assert_played": transport.assert_played,
        }[close]()
    transport.close()  # once is enough: a client may be closed behind it


def test_error_that_was_hidden_is_raised_on_leaving():
    transport, client = replayed(three())

    wrapped = hiding(lambda: post(client, "other"), RuntimeError("Connection error."))
    with pytest.raises(MismatchError) as caught, client:
        inside(transport, wrapped)

    assert caught.value.__notes__ == ["The client turned this error into RuntimeError"]


def test_error_of_a_test_is_not_replaced():
    transport, client = replayed(three())

    with pytest.raises(ZeroDivisionError), transport, client:
        raise ZeroDivisionError


def test_client_that_tries_again_gets_the_same_error():
    transport, client = replayed(three())
    errors = []
    for said in ("other", "one"):
        with pytest.raises(MismatchError) as caught:
            post(client, said)
        errors.append(caught.value)

    assert errors[0] is errors[1]
    assert transport.played == 0


def test_recorded_waiting_time_is_over():
    given = exchange(status=429, headers={**JSON, "retry-after": ("60",)})
    _, client = replayed([given])

    headers = post(client).headers

    assert headers["retry-after"] == "0"
    assert float(headers["retry-after-ms"]) < 1


def test_official_client_streams_at_any_cut():
    chunks = [
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": piece}}],
        }
        for piece in ("ü", "😀", "end")
    ]
    text = "".join(f"data: {json.dumps(c, ensure_ascii=False)}\n\n" for c in chunks)
    given = request(model="m", stream=True)
    stream = Response(200, "OK", EVENTS, f"{text}data: [DONE]\n\n".encode())
    recording = ready("a.yaml", [Exchange(given, stream)])
    for every in (1, 2, 3, 1000):
        transport = ReplayTransport(recording, deliveries={1: Delivery(every=every)})
        http = httpx2.Client(transport=transport)
        with openai.OpenAI(
            base_url="https://api.example/v1", api_key="any", http_client=http
        ) as client:
            found = client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            assert [each.choices[0].delta.content for each in found] == [
                "ü",
                "😀",
                "end",
            ]


@given(st.lists(st.integers(0, len(TEXT.encode()))))
def test_stream_cut_anywhere_is_the_same_text(cuts):
    transport, client = replayed([STREAM], deliveries={1: Delivery(tuple(cuts))})

    with transport, client.stream("POST", URL, **sent()) as response:
        pieces = list(response.iter_raw())

    places = {0, *cuts, len(TEXT.encode())}
    assert b"".join(pieces).decode() == TEXT
    assert len(pieces) == len(places) - 1


def sent():
    return {"content": request().body, "headers": plain(JSON)}


def test_cut_inside_a_character_arrives_as_two_pieces():
    at = TEXT.encode().index("😀".encode()) + 2

    first, second = rechunked(TEXT.encode(), Delivery((at,)))

    assert first + second == TEXT.encode()
    with pytest.raises(UnicodeDecodeError):
        first.decode()


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("at", [0, 3, len(TEXT.encode())])
def test_stream_breaks_off_where_it_is_told_to(at, asynchronous):
    delivery = Delivery(every=2, breaks_at=at)
    transport = ReplayTransport(ready("a", [STREAM]), deliveries={1: delivery})
    pieces = []

    async def main():
        client = httpx2.AsyncClient(transport=transport)
        async with client, client.stream("POST", URL, **sent()) as response:
            async for piece in response.aiter_raw():
                pieces.extend([piece])

    def main_sync():
        client = httpx2.Client(transport=transport)
        with client, client.stream("POST", URL, **sent()) as response:
            pieces.extend(response.iter_raw())

    with pytest.raises(httpx2.RemoteProtocolError):
        asyncio.run(main()) if asynchronous else main_sync()
    assert b"".join(pieces) == TEXT.encode()[:at]


def test_body_that_is_read_whole_breaks_off_too():
    _, client = replayed([STREAM], deliveries={1: Delivery(breaks_at=3)})

    with pytest.raises(httpx2.RemoteProtocolError):
        client.post(URL, **sent())


@pytest.mark.parametrize(
    "delivery",
    [
        lambda: {1: Delivery((-1,))},
        lambda: {1: Delivery(every=-1)},
        lambda: {1: Delivery(breaks_at=-1)},
        lambda: {1: Delivery((99,))},
        lambda: {1: Delivery(breaks_at=99)},
        lambda: {0: Delivery()},
        lambda: {2: Delivery()},
    ],
)
def test_delivery_that_cannot_be_is_refused(delivery):
    with pytest.raises(DeliveryError):
        replayed([STREAM], deliveries=delivery())


def test_nothing_to_play_is_refused():
    with pytest.raises(CassetteError, match="it holds no interaction"):
        ready("a.yaml", [])


def test_sessions_at_once_do_not_see_each_other():
    recording = ready("a.yaml", three())

    async def session(number):
        transport = ReplayTransport(recording)
        async with httpx2.AsyncClient(transport=transport) as client:
            for each in ("one", "two", "three"):
                response = await client.post(
                    URL, content=request(each).body, headers=plain(JSON)
                )
                await asyncio.sleep(0)
                assert response.json() == {"answer": each.upper()}
        return number

    async def main():
        return await asyncio.gather(*map(session, range(20)))

    assert asyncio.run(main()) == list(range(20))


def test_sessions_in_threads_do_not_see_each_other():
    recording, played = ready("a.yaml", three()), []

    def session():
        transport = ReplayTransport(recording)
        with httpx2.Client(transport=transport) as client:
            for each in ("one", "two", "three"):
                post(client, each)
        played.append(transport.played)

    threads = [threading.Thread(target=session) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert played == [3] * 8


def test_threads_of_one_session_play_each_interaction_once():
    transport, client = replayed([exchange(answer=n) for n in range(40)])
    answers = []

    def ask():
        answers.extend(post(client).json()["answer"] for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == list(range(40))
    transport.assert_played()


def test_request_is_compared_with_one_interaction_only(monkeypatch):
    from compat.wire import matching

    given = [exchange(str(number)) for number in range(100)]
    transport, client = replayed(given)
    read = []
    form_of = matching.canonical_request
    monkeypatch.setattr(
        matching, "canonical_request", lambda each: read.append(1) or form_of(each)
    )

    for number in range(100):
        tree = json.loads(request(str(number)).body)
        spaced = json.dumps(tree, indent=1).encode()
        client.post(URL, content=spaced, headers=plain(JSON))

    transport.assert_played()
    assert len(read) == 200  # as it is and scrubbed, and none of the recorded ones


def test_placeholder_in_a_file_matches_the_secret_that_was_sent():
    scrubber = Scrubber(["the-key-in-use"])
    recorded = scrubber.exchange(exchange("I am the-key-in-use"))
    transport = ReplayTransport(ready("a", [recorded], scrubber))

    with httpx2.Client(transport=transport) as client:
        post(client, "I am the-key-in-use")


def test_transport_waits_for_nothing(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it slept"))
    given = [exchange(status=429, headers={**JSON, "retry-after": ("9",)})] * 3

    transport, client = replayed(given)
    with transport, client:
        for _ in given:
            post(client)


def own_cassettes():
    folder = ROOT / "cassettes"
    return [folder / entry.file for entry in read_manifest(folder).cassette]


def asked(client, exchanges):
    """Send recorded requests as they are: an SDK of today would send others."""
    for each in exchanges:
        kind = each.request.headers.get("content-type", ())
        response = client.request(
            each.request.method,
            each.request.url,
            content=each.request.body,
            headers=[("content-type", value) for value in kind[:1]],
        )
        yield (
            response.status_code,
            response.reason_phrase,
            sorted(response.headers.multi_items()),
            response.content,
        )


@pytest.mark.parametrize("files", [corpus, own_cassettes])
def test_transport_and_vcrpy_agree_on_every_cassette(files):
    for path in files():
        exchanges = read_cassette(path)
        transport = ReplayTransport(recording_of(path))
        with httpx2.Client(transport=transport) as client:
            ours = list(asked(client, exchanges))
        with strict_cassette(path), httpx2.Client() as client:
            theirs = list(asked(client, exchanges))

        assert ours == theirs
        assert [each[3] for each in ours] == [each.response.body for each in exchanges]


def test_transport_and_vcrpy_refuse_the_same():
    for path in corpus():
        first = read_cassette(path)[0]
        transport = ReplayTransport(recording_of(path))
        with httpx2.Client(transport=transport) as client:
            ours = refused(client, transport, first.request)
        with httpx2.Client() as client:
            theirs = refused(client, strict_cassette(path), first.request)
        assert ours == theirs


def refused(client, session, request):
    with pytest.raises(MismatchError) as caught, session:
        client.request(request.method, request.url + "?other=1")
    return str(caught.value)


@pytest.mark.parametrize(
    "url", ["**REDACTED**", "/v1", "https://[x/", "https://a:99999/"]
)
def test_interaction_without_an_address_is_not_replayed_and_says_why(url):
    one = exchange("one")
    redacted = replace(one, request=replace(one.request, url=url))

    with pytest.raises(CassetteError, match="interaction 1: the uri is not an address"):
        ready("some.yaml", [redacted])
