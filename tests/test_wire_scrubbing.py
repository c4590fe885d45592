"""No secret reaches a file, wherever and in whatever form it was sent or answered."""

import gzip
import html
import json
import zlib
from base64 import b64encode, urlsafe_b64encode
from hashlib import shake_256
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.wire.cassette_files import read_cassette
from compat.wire.cassette_text import library
from compat.wire.errors import (
    LeakError,
    RecordingError,
    ScrubbingError,
)
from compat.wire.exchanges import Exchange, Request, Response, decoded
from compat.wire.scrubbing import Scrubber
from compat.wire.scrubbing.texts import spans_within
from compat.wire.writing import check_clean, scrubbed_file, write_cassette
from tests.wire_support import EVENTS, JSON, URL, corpus, exchange

VALUE = 'Zq/7+p"w\\x ü&=%9'  # each character that some form escapes
PLAIN = "plainlongsecretvalue"
TEXT = {"content-type": ("text/plain",)}
FORM = {"content-type": ("application/x-www-form-urlencoded",)}

FORMS = {
    "plain": lambda s: s,
    "upper case": str.upper,
    "lower case": str.lower,
    "json": lambda s: json.dumps(s)[1:-1],
    "json, letters": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "json, slashes": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "json in json": lambda s: json.dumps(json.dumps(s))[1:-1],
    "all escaped": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "quote": lambda s: quote(s, safe=""),
    "quote, lower": lambda s: quote(s, safe="").replace("%2F", "%2f"),
    "quote, some": quote,
    "quote, plus": quote_plus,
    "quote, twice": lambda s: quote(quote(s, safe=""), safe=""),
    "quote, all": lambda s: "".join(f"%{byte:02x}" for byte in s.encode()),
    "html": html.escape,
    "html, numbers": lambda s: "".join(f"&#{ord(c)};" for c in s),
    "hex": lambda s: s.encode().hex(),
    "base64": lambda s: b64encode(s.encode()).decode(),
    "base64, urls": lambda s: urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64 of user:": lambda s: b64encode(f"user:{s}".encode()).decode(),
    "base64 of u:": lambda s: b64encode(f"u:{s}:x".encode()).decode(),
    "base64 of us:": lambda s: b64encode(f"us:{s}".encode()).decode(),
    "base64, quoted": lambda s: quote(b64encode(f"u:{s}".encode()).decode(), safe=""),
}
KEYS = {
    "openai": "sk-abcdefghijklmnopqrst",
    "openai project": "sk-proj-Ab1_Cd2-Ef3Gh4Ij5Kl6",
    "anthropic": "sk-ant-api03-AbCdEfGhIjKlMnOp-QrSt_AA",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "aws session": "ASIAIOSFODNN7EXAMPLE",
    "github": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github fine": "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwx",
    "slack": "xoxb-123456789012-abcdefghijkl",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "google token": "ya29.a0AfH6SMBabcdefghijkl",
    "groq": "gsk_abcdefghijklmnopqrstuvwx",
    "stripe": "sk_live_abcdefghijklmnop",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
    "organization": "org-AbCdEfGhIjKlMnOpQrStUvWx",
    "project": "proj_AbCdEfGhIjKlMnOpQrStUvWx",
    "bearer": "Bearer abcDEF123456",
    "basic": "Basic " + b64encode(b"user:hunter2").decode(),
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY",
}


def holds(data: bytes, secret: str) -> bool:
    """Look for a secret without the code under test, also inside JSON and base64."""
    text = data.decode("utf-8", "replace").lower()
    forms = {form(secret).lower() for form in FORMS.values()}
    return any(form in text for form in forms)


def file_of(found: Exchange, *secrets: str, name="some.yaml", **rules) -> bytes:
    return scrubbed_file(name, [found], Scrubber(secrets, **rules))


def sent(body=b"", headers=TEXT, url=URL) -> Exchange:
    return Exchange(Request("POST", url, headers, body), Response(200, "OK", TEXT))


def answered(body=b"", headers=TEXT, **more) -> Exchange:
    return Exchange(Request("GET", URL), Response(200, "OK", headers, body, **more))


@pytest.mark.parametrize("secret", [VALUE, PLAIN, "hunter2", "日本語の鍵"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["some.yaml", "some.json"])
def test_given_secret_is_replaced_in_every_form(secret, form, name):
    told = FORMS[form](secret)
    for place in (sent, answered):
        plain = place(f"before {told} after".encode())
        inside = place(json.dumps({"text": f"before {told} after"}).encode(), JSON)
        for found in (plain, inside):
            data = file_of(found, secret, name=name)

            assert told.encode() not in data
            assert not holds(data, secret)
            assert b"before " in data
            assert b"SCRUBBED" in data
            assert b" after" in data


@pytest.mark.parametrize("form", FORMS)
def test_given_secret_is_replaced_in_every_place_of_an_exchange(form):
    told = FORMS[form](VALUE)
    safe = quote(told, safe="")
    everywhere = Exchange(
        Request(
            "POST",
            f"https://{safe}:{safe}@api.example/{safe}/x?q={safe}&{safe}=1#{safe}",
            {"x-other": (told,), "accept": (told,), told: ("x",)},
            json.dumps({"a": [told, {told: told}]}).encode(),
        ),
        Response(
            200,
            told,
            {"set-cookie": (told,), "content-type": (told,), "request-id": (told,)},
            told.encode(),
            f"https://api.example/?q={safe}",
        ),
    )

    assert not holds(file_of(everywhere, VALUE), VALUE)


@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_is_replaced_though_nobody_gave_it(key):
    told = KEYS[key]
    bodies = [
        sent(f"use {told} now".encode()),
        sent(json.dumps({"text": f"use {told} now"}).encode(), JSON),
        sent(json.dumps({"arguments": json.dumps({"a": told})}).encode(), JSON),
        answered(f"data: {json.dumps({'text': told})}\n\n".encode(), EVENTS),
        answered(url=f"https://api.example/{quote(told, safe='')}"),
        sent(url=f"{URL}?x={quote_plus(told)}"),
        sent(headers={"accept": (told,)}),
    ]
    last = told.splitlines()[0].split()[-1]
    for found in bodies:
        assert last.encode() not in file_of(found)


@pytest.mark.parametrize(
    "text",
    [
        "a basic understanding, desk-organising-things",
        "risk-averse people ask-me-anything",
        "the token limit, the secret garden, password policies",
        "your password: at least one digit; api_key = none",
        "org- and proj_ are prefixes, sk- too",
        "Bearer of news",
        "https://api.example/a:b/c@d",
        'f({"secret-token": "", "cut": 6}) and f({\\"pwd\\": \\"\\", \\"cut\\": 6})',
    ],
)
def test_plain_words_are_left_alone(text):
    assert Scrubber().text(text) == text


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "x-api-key",
        "api-key",
        "Cookie",
        "set-cookie",
        "openai-organization",
        "openai-project",
        "anthropic-organization-id",
        "x-goog-api-key",
        "x-amz-security-token",
        "x-stainless-os",
        "user-agent",
        "cf-ray",
        "host",
        "any-other",
    ],
)
def test_headers_are_dropped_unless_they_are_on_the_list(name):
    headers = {name.lower(): ("some value",), "content-type": ("text/plain",)}
    found = Scrubber().exchange(
        Exchange(Request("GET", URL, headers), Response(200, "OK", headers))
    )

    assert found.request.headers == {"content-type": ("text/plain",)}
    assert found.response.headers == {"content-type": ("text/plain",)}


def test_id_of_a_request_is_replaced_and_waiting_times_are_kept():
    headers = {"x-request-id": ("req_1",), "retry-after": ("3",)}

    assert Scrubber().headers(headers) == {
        "retry-after": ("3",),
        "x-request-id": ("SCRUBBED",),
    }


def test_more_headers_are_kept_on_request_but_never_credentials():
    assert Scrubber(keep_headers=["X-Mine"]).headers({"x-mine": ("1",)})

    with pytest.raises(ScrubbingError, match=r"^authorization, set-cookie"):
        Scrubber(keep_headers=["Set-Cookie", "Authorization", "x-mine"])


@pytest.mark.parametrize(
    "query",
    ["key", "api_key", "API-KEY", "access_token", "sig", "X-Amz-Signature", "code"],
)
def test_query_parameters_that_are_credentials_are_replaced(query):
    found = Scrubber().url(f"https://api.example/v1?{query}=abc&alt=sse")

    assert found == f"https://api.example/v1?{query}=SCRUBBED&alt=sse"


def test_address_loses_user_and_fragment_and_its_project():
    found = Scrubber().url("https://me:pw@api.example/v1/projects/mine/x?a=b%2Bc#frag")

    assert found == "https://api.example/v1/projects/SCRUBBED/x?a=b%2Bc"


@pytest.mark.parametrize(
    "field", ["password", "api_key", "apiKey", "X-API-Key", "client_secret", "token"]
)
@pytest.mark.parametrize("value", ["hunter2", 1234, ["hunter2"], {"a": "hunter2"}])
def test_fields_that_are_credentials_are_replaced_at_any_depth(field, value):
    tree = {"a": [{field: value, "b": json.dumps({field: value})}]}

    data = file_of(sent(json.dumps(tree).encode(), JSON))

    assert b"hunter2" not in data
    assert b"1234" not in data


@pytest.mark.parametrize(
    "text",
    [
        '{"headers": [["Authorization", "planted1"], ["X-Api-Key", "planted1"]]}',
        '{"headers": [{"name": "Cookie", "value": "planted1"}]}',
        '{"headers": {"X-Api-Key": ["planted1"], "Set-Cookie": "planted1"}}',
        '{"broken": 1, "api_key": "planted1"',
        '{"text": "{\\"client_secret\\": \\"planted1\\"}"}',
        "POST / HTTP/1.1\r\nAuthorization: Token planted1\r\nx-api-key: planted1\r\n",
        "Set-Cookie: __cf_bm=planted1; path=/",
        "GET https://me:planted1@api.example/?api_key=planted1&access_token=planted1",
        "export AWS_SECRET_ACCESS_KEY=planted1",
        "aws_secret_access_key = planted1\npassword: planted1",
        "headers={'authorization': 'planted1', 'api-key': 'planted1'}",
        "-----BEGIN PRIVATE KEY-----\\nplanted1\\n-----END PRIVATE KEY-----",
    ],
)
@pytest.mark.parametrize("headers", [TEXT, JSON, EVENTS])
def test_credentials_that_a_body_tells_of_are_replaced(text, headers):
    body = Scrubber().body(headers, text.encode())

    assert b"planted1" not in body
    assert b"SCRUBBED" in body


def test_fields_that_the_caller_names_are_replaced():
    tree = json.dumps({"account_name": "me"}).encode()

    assert b'"me"' not in file_of(sent(tree, JSON), fields=["Account-Name"])
    assert b'"me"' in file_of(sent(tree, JSON))


@pytest.mark.parametrize(
    "tree",
    [
        {"properties": {"password": {"type": "string", "title": "Password"}}},
        {"content": [{"token": "Hello", "logprob": -0.1, "bytes": [72]}]},
        {"usage": {"max_tokens": 3, "total_tokens": 4}, "keys": ["a"]},
        {"password": None, "secret": True},
    ],
)
def test_schemas_probabilities_and_counts_are_left_alone(tree):
    body = json.dumps(tree, indent=3).encode()

    assert Scrubber().body(JSON, body) == body


def test_form_bodies_are_scrubbed_by_name_and_value():
    found = Scrubber([VALUE]).body(
        FORM, f"client_secret=abc&q={quote_plus(VALUE)}&r=a+b".encode()
    )

    assert found == b"client_secret=SCRUBBED&q=SCRUBBED&r=a+b"


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
@pytest.mark.parametrize("headers", [TEXT, JSON])
def test_packed_bodies_are_looked_into(pack, headers):
    inner = json.dumps({"a": VALUE, "b": KEYS["openai"]}).encode()

    found = Scrubber([VALUE]).body(headers, pack(inner))

    kind = "gzip" if pack is gzip.compress else "deflate"
    assert json.loads(decoded(found, kind)) == {"a": "SCRUBBED", "b": "SCRUBBED"}


def test_body_with_an_encoding_is_decoded_first():
    headers = {**JSON, "content-encoding": ("gzip",)}
    body = gzip.compress(json.dumps({"a": VALUE}).encode())

    assert Scrubber([VALUE]).body(headers, body) == b'{"a":"SCRUBBED"}'


def test_body_that_nobody_can_look_into_is_refused():
    headers = {"content-encoding": ("secret",)}

    with pytest.raises(ScrubbingError, match="accept-encoding"):
        Scrubber().body(headers, b"\xff\xfe")


@pytest.mark.parametrize("form", FORMS)
def test_secret_is_found_far_from_all_else_in_a_long_text(form) -> None:
    far = "some words " * 2_000
    text = f"%41 {far}{FORMS[form](VALUE)} {far}&amp;"

    found = Scrubber([VALUE]).text(text)

    assert len(found) < len(text)
    assert FORMS[form](VALUE) not in found


def test_key_is_taken_out_to_its_end_however_far_from_its_last_escape() -> None:
    inside = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"] * 400)
    text = (
        f"here: -----BEGIN%20PRIVATE%20KEY-----\n{inside}\n-----END PRIVATE KEY-----!"
    )

    assert "MIIE" not in Scrubber().text(text)


def test_what_goes_on_for_long_is_read_a_few_times_alone() -> None:
    """Each escape in it was a reason to read all of it again."""
    text = f"{'a' * 5_000}%41" * 100
    read = 0

    def search(part):
        nonlocal read
        read += len(part)
        return [(0, len(part))]

    assert (0, len(text)) in [*spans_within(text, search, 1)]
    assert read < 3 * len(text)


def test_bytes_that_are_no_text_are_read_a_few_times_alone() -> None:
    """Each has some escapes by chance, and each was a reason to read all again."""
    body = shake_256(b"no text").digest(100_000).decode("latin-1")
    read = 0

    def search(text):
        nonlocal read
        read += len(text)
        return ()

    assert not [*spans_within(body, search)]
    assert 0 < read < 2 * len(body)


def test_binary_bodies_are_scrubbed():
    found = Scrubber([PLAIN]).body({}, b"\xff\0" + PLAIN.encode() + b"\xfe")

    assert found == b"\xff\0SCRUBBED\xfe"


def openai_events(*pieces):
    for piece in pieces:
        yield {"choices": [{"index": 0, "delta": {"content": piece}}]}
        yield {"choices": [{"index": 1, "delta": {"content": "other"}}]}


def openai_arguments(*pieces):
    for piece in pieces:
        call = {"index": 1, "function": {"arguments": piece}}
        other = {"index": 0, "function": {"arguments": "{}"}}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [other]}}]}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def anthropic_events(*pieces):
    for piece in pieces:
        delta = {"type": "text_delta", "text": piece}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "ping"}


def responses_events(*pieces):
    kind = "response.output_text.delta"
    for number, piece in enumerate(pieces):
        yield {"type": kind, "item_id": "m1", "delta": piece, "sequence": number}
        yield {"type": kind, "item_id": "m2", "delta": "other"}


def gemini_events(*pieces):
    for piece in pieces:
        yield {"candidates": [{"content": {"parts": [{"text": piece}]}, "index": 0}]}


def as_events(events, end="\n"):
    return "".join(f"event: x{end}data: {json.dumps(e)}{end}{end}" for e in events)


def as_lines(events):
    return "".join(f"{json.dumps(each)}\n" for each in events)


def as_array(events):
    return json.dumps(list(events), indent=2)


SPLIT = [VALUE, PLAIN, KEYS["openai project"], KEYS["github"], KEYS["jwt"]]


@pytest.mark.parametrize(
    "events",
    [
        openai_events,
        openai_arguments,
        anthropic_events,
        responses_events,
        gemini_events,
    ],
)
@pytest.mark.parametrize("told", [as_events, as_lines, as_array])
@pytest.mark.parametrize("secret", SPLIT)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_secret_that_a_stream_tells_in_pieces_is_taken_out(events, told, secret, size):
    text = f"see {secret} there"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    body = told(events(*pieces)).encode()

    found = Scrubber([VALUE, PLAIN]).body(EVENTS, body).decode()

    lines = json.loads(found) if told is as_array else parsed(found)
    again = "".join(texts(lines))
    assert "see SCRUBBED there" in again
    assert found.count('"other"') == body.decode().count('"other"')


def parsed(text):
    lines = (line.removeprefix("data: ") for line in text.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def texts(tree):
    """Yield what the pieces say, those of other choices and calls apart."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in {"content", "arguments", "text", "delta"} and isinstance(
                value, str
            ):
                yield "" if value in {"other", "{}"} else value
            else:
                yield from texts(value)
    elif isinstance(tree, list):
        for each in tree:
            yield from texts(each)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_stream_without_a_secret_is_kept_letter_for_letter(end):
    body = f": hi{end}id: 3{end}" + as_events(openai_events("a\u2028", "ü"), end)

    assert Scrubber([VALUE]).body(EVENTS, body.encode()) == body.encode()


def test_field_that_is_streamed_in_pieces_is_replaced():
    pieces = ['{"pass', 'word": "hun', "ter2", '", "a": 1}']
    body = as_events(openai_arguments(*pieces)).encode()

    found = "".join(texts(parsed(Scrubber().body(EVENTS, body).decode())))

    assert found == '{"password": "SCRUBBED", "a": 1}'


def test_events_of_plain_text_are_read_as_one_text():
    body = f"data: a {PLAIN[:5]}\n\ndata: {PLAIN[5:]} b\n\n".encode()

    found = Scrubber([PLAIN]).body(EVENTS, body)

    assert found == b"data: a SCRUBBED\n\ndata:  b\n\n"


@pytest.mark.parametrize("secret", ["", "a", "abc"])
def test_secret_that_stands_everywhere_is_refused_and_not_shown(secret):
    with pytest.raises(ScrubbingError, match="a secret this short") as caught:
        Scrubber([secret, PLAIN])

    assert PLAIN not in str(caught.value)


def test_scrubber_does_not_show_its_secrets():
    scrubber = Scrubber([PLAIN])

    assert PLAIN not in repr(scrubber)
    assert not hasattr(scrubber, "__dict__")


def test_file_with_a_secret_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "some.yaml"
    monkeypatch.setattr(Scrubber, "exchange", lambda _, each: each)

    with pytest.raises(LeakError, match=r"some\.yaml was not written") as caught:
        write_cassette(path, [exchange(PLAIN)], Scrubber([PLAIN]))

    assert list(tmp_path.iterdir()) == []
    assert PLAIN not in str(caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_last_check_finds_a_secret_in_every_form(form):
    told = FORMS[form](VALUE)
    data = scrubbed_file("some.yaml", [sent(told.encode())], Scrubber())

    with pytest.raises(LeakError):
        check_clean("some.yaml", data, Scrubber([VALUE]))


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(PLAIN.encode(), mtime=0),
        as_events(openai_events(PLAIN[:8], PLAIN[8:])).encode(),
        b'{"a": "\\u0070lainlongsecretvalue"}',
    ],
)
def test_last_check_finds_a_secret_that_the_bytes_do_not_show(body):
    data = scrubbed_file("some.yaml", [sent(body, EVENTS)], Scrubber())
    assert PLAIN.encode() not in data

    with pytest.raises(LeakError):
        check_clean("some.yaml", data, Scrubber([PLAIN]))


def test_last_check_finds_a_secret_that_yaml_folds(tmp_path):
    import yaml

    tree = {
        "version": 1,
        "interactions": [
            {
                "request": {
                    "method": "GET",
                    "uri": URL,
                    "headers": {},
                    "body": f"{'x ' * 60}two words of a secret",
                },
                "response": {"status": {"code": 200}, "headers": {}},
            }
        ],
    }
    for width in range(20, 150):
        data = yaml.safe_dump(tree, width=width).encode()
        with pytest.raises(LeakError):
            check_clean("some.yaml", data, Scrubber(["two words of a secret"]))


def test_nothing_is_written_for_no_exchange(tmp_path):
    with pytest.raises(RecordingError, match="no request"):
        write_cassette(tmp_path / "some.yaml", [], Scrubber())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["deep/er/some.yaml", "some.json"])
def test_written_file_is_read_back_alike_and_by_vcrpy(tmp_path, name):
    load = library("vcr.persisters.filesystem").FilesystemPersister.load_cassette
    kind = "yaml" if name.endswith("yaml") else "json"
    path = tmp_path / name
    given = [exchange("two\nlines ü 😀 \u2028\x85 \x07 'q' \"q\"", "a: b # c\n")]

    write_cassette(path, given, Scrubber())

    assert list(read_cassette(path)) == given
    requests, responses = load(path, library(f"vcr.serializers.{kind}serializer"))
    assert requests[0].body == given[0].request.body
    assert responses[0]["body"]["string"] == given[0].response.body


def test_written_file_can_be_read_by_people_and_has_no_metadata(tmp_path):
    import yaml

    path = tmp_path / "some.yaml"
    body = as_events([{"text": "ü"}]).replace("\\u00fc", "ü 😀").encode()

    write_cassette(path, [answered(body, EVENTS)], Scrubber())

    text = path.read_text("utf-8")
    assert '        data: {"text": "ü 😀"}\n' in text
    assert set(yaml.safe_load(text)) == {"version", "interactions"}


@given(st.text(), st.sampled_from([TEXT, JSON, EVENTS, FORM]))
def test_scrubbing_twice_is_scrubbing_once(text, headers):
    scrubber = Scrubber([VALUE])
    once = scrubber.body(headers, text.encode("utf-8", "replace"))

    assert scrubber.body(headers, once) == once


PARTS = st.sampled_from(
    [VALUE, PLAIN, *KEYS.values(), '"', "{", "}", ":", "\\", "a", " ", "\n", "data: "]
    + [form(VALUE) for form in FORMS.values()]
    + ["password", "authorization: ", "=", "://", "@", "cookie: ", "SCRUBBED"]
)


@given(st.lists(PARTS, max_size=8), st.sampled_from([TEXT, JSON, EVENTS, FORM]))
def test_no_neighbour_of_a_secret_hides_it(parts, headers):
    scrubber = Scrubber([VALUE, PLAIN])
    once = scrubber.body(headers, "".join(parts).encode())

    assert not scrubber.knows(once.decode())
    assert PLAIN not in once.decode()
    assert scrubber.body(headers, once) == once


def test_recorded_exchanges_of_vendors_are_scrubbed_once_and_for_all():
    scrubber = Scrubber()
    for path in corpus():
        once = [scrubber.exchange(each) for each in read_cassette(path)]
        assert [scrubber.exchange(each) for each in once] == once
        check_clean(path.name, scrubbed_file(path.name, once, scrubber), scrubber)
