"""Cassette files are read whole, or refused by name and number."""

import gzip
import json
import zlib
from typing import Any

import pytest

from compat.wire.cassette_files import read_cassette, read_whole
from compat.wire.errors import (
    CassetteError,
)
from tests.wire_support import ROOT, corpus

VCRPY = """\
interactions:
- request:
    body: '{"a": "ü 😀"}'
    headers: {Content-Type: [application/json], X-Two: [a, b]}
    method: POST
    uri: https://api.example/v1?x=1
  response:
    body: {string: hello}
    headers: {Content-Type: [text/plain]}
    status: {code: 200, message: OK}
version: 1
"""
PYDANTIC_AI = """\
interactions:
- request:
    headers: {content-type: [application/json]}
    method: POST
    parsed_body: {a: [1, 1.0, true, null, "1"]}
    uri: https://api.example/v1
  response:
    headers: {content-type: [application/json]}
    parsed_body: {b: ü}
    status: {code: 200, message: OK}
version: 1
"""


def read(tmp_path, text, name="some.yaml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_cassette(path)


def tree(**changes) -> dict[str, Any]:
    """Return a cassette as a tree; a change is named PART_KEY, None takes it out."""
    request = {"method": "POST", "uri": "https://api.example/v1", "headers": {}}
    response = {
        "status": {"code": 200, "message": "OK"},
        "headers": {},
        "body": {"string": ""},
    }
    for name, value in changes.items():
        part, _, key = name.partition("_")
        {"request": request, "response": response}[part][key] = value
    return {
        "version": 1,
        "interactions": [{"request": request, "response": response}],
    }


def test_vcrpy_yaml_is_read(tmp_path):
    [found] = read(tmp_path, VCRPY)

    assert found.request.body.decode() == '{"a": "ü 😀"}'
    assert found.request.headers["x-two"] == ("a", "b")
    assert found.request.url == "https://api.example/v1?x=1"
    assert (found.response.status, found.response.reason) == (200, "OK")
    assert found.response.body == b"hello"


def test_header_names_are_lower_cased_and_equal_ones_kept(tmp_path):
    given = tree(response_headers={"Set-Cookie": ["a"], "set-cookie": "b", "N": 3})

    [found] = read(tmp_path, json.dumps(given), "some.json")

    assert found.response.headers == {"set-cookie": ("a", "b"), "n": ("3",)}


def test_json_is_read_with_what_yaml_cannot_say(tmp_path):
    given = json.dumps(tree(response_body={"string": "😀"}))
    assert "\\ud83d\\ude00" in given

    [found] = read(tmp_path, given, "some.json")

    assert found.response.body.decode() == "😀"


def test_parsed_body_is_read_with_its_types(tmp_path):
    [found] = read(tmp_path, PYDANTIC_AI)

    assert found.request.body == b'{"a": [1, 1.0, true, null, "1"]}'
    assert json.loads(found.response.body) == {"b": "ü"}


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("GZIP", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello", wbits=-15)),
        ("gzip, gzip", gzip.compress(gzip.compress(b"hello", mtime=0), mtime=0)),
        ("identity", b"hello"),
        ("gzip", b"hello"),
        ("br", b"hello"),
        ("br", bytes.fromhex("0b028068656c6c6f03")),
        ("zstd", bytes.fromhex("28b52ffd200529000068656c6c6f")),
        ("br, gzip", gzip.compress(bytes.fromhex("0b028068656c6c6f03"), mtime=0)),
    ],
)
def test_compressed_body_is_decoded_and_its_header_gone(tmp_path, encoding, packed):
    import yaml

    text = yaml.safe_dump(
        tree(
            response_body={"string": packed},
            response_headers={"Content-Encoding": [encoding]},
        )
    )

    [found] = read(tmp_path, text)

    assert found.response.body == b"hello"
    assert "content-encoding" not in found.response.headers


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "secret"])
def test_body_that_is_not_what_its_header_says_is_refused(tmp_path, encoding):
    import yaml

    text = yaml.safe_dump(
        tree(
            response_body={"string": gzip.compress(b"x" * 99)[:-9] + b"\xff"},
            response_headers={"content-encoding": [encoding]},
        )
    )

    with pytest.raises(CassetteError, match=r"some\.yaml, interaction 1: .*content"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("encoding", "nothing"),
    [
        ("gzip", gzip.compress(bytes(9000), mtime=0).hex()),
        ("deflate", zlib.compress(bytes(9000)).hex()),
        ("br", "1b2723f82700e2b140205c0300"),
        ("zstd", "28b52ffd6028224d0000100000010023830758"),
    ],
)
def test_bomb_is_refused(tmp_path, monkeypatch, encoding, nothing):
    import yaml

    from compat.wire import exchanges

    monkeypatch.setattr(exchanges, "BODY_LIMIT", 1000)
    headers = {"content-encoding": [encoding]}
    packed = {"string": bytes.fromhex(nothing)}
    text = yaml.safe_dump(tree(response_body=packed, response_headers=headers))

    with pytest.raises(CassetteError, match="record it decoded"):
        read(tmp_path, text)


def test_binary_body_and_binary_header_are_read(tmp_path):
    text = VCRPY.replace("string: hello", "string: !!binary /w==").replace(
        "[text/plain]", "[!!binary dGV4dC9wbGFpbg==]"
    )

    [found] = read(tmp_path, text)

    assert found.response.body == b"\xff"
    assert found.response.headers["content-type"] == ("text/plain",)


def test_tags_of_old_vcrpy_files_are_read_as_what_they_stand_for(tmp_path):
    tags = "!!python/object/new:_io.BytesIO {state: !!python/tuple [hello, 0, null]}"
    text = VCRPY.replace("""'{"a": "ü 😀"}'""", tags)

    [found] = read(tmp_path, text)

    assert found.request.body == b"hello"


def test_body_in_pieces_is_read_as_one(tmp_path):
    tags = "!!python/object/apply:builtins.iter {args: [[hel, lo]]}"

    [found] = read(tmp_path, VCRPY.replace("""'{"a": "ü 😀"}'""", tags))

    assert found.request.body == b"hello"


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['echo run']",
        "!!python/name:os.system",
        "!!python/module:os",
        "!mine 1",
    ],
)
def test_tag_that_would_run_something_is_refused(tmp_path, tag, capfd):
    with pytest.raises(CassetteError, match=r"tag.*record it in vcrpy"):
        read(tmp_path, VCRPY.replace("{string: hello}", tag))

    assert capfd.readouterr().out == ""


def test_old_form_of_httpx_responses_is_read(tmp_path):
    given = tree()
    given["interactions"][0]["response"] = {
        "status_code": 429,
        "http_version": "HTTP/1.1",
        "headers": {"Content-Type": "text/plain"},
        "content": "slow down",
    }

    [found] = read(tmp_path, json.dumps(given))

    assert (found.response.status, found.response.body) == (429, b"slow down")


def test_packed_file_is_read(tmp_path):
    assert read(tmp_path, gzip.compress(VCRPY.encode()), "some.yaml.gz") == read(
        tmp_path, VCRPY
    )


def test_metadata_is_kept(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(VCRPY + "metadata: {seed: 3}\n", "utf-8")

    assert read_whole(path).metadata == {"seed": 3}


UNREAD = "which is not read"
REPAIR = "repair the interaction"
FORMAT = "record it in vcrpy's format"
EMPTY = "it holds no interaction"


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"request_cookies": 1}, UNREAD, "'cookies'"),
        ({"response_elapsed": 1}, UNREAD, "'elapsed'"),
        ({"response_body": {"base64_string": ""}}, UNREAD, "base64_string"),
        ({"response_status": {"code": 200, "x": 1}}, UNREAD, "'x'"),
        ({"response_status": {"message": "OK"}}, REPAIR, "no code"),
        ({"response_status": {"code": "200"}}, REPAIR, "whole number"),
        ({"response_status": {"code": True}}, REPAIR, "whole number"),
        ({"response_headers": []}, REPAIR, "headers are not an object"),
        ({"request_headers": {"a": [None]}}, REPAIR, "header a is NoneType"),
        ({"request_body": {"a": 1}}, UNREAD, "'a'"),
        ({"request_body": 1.5}, REPAIR, "the body is float"),
        ({"request_body": "\ud800"}, REPAIR, "half a character"),
        ({"request_method": None}, REPAIR, "method is NoneType"),
        (
            {"response_parsed_body": {}},
            REPAIR,
            "a body and a parsed_body",
        ),
        ({"request_parsed_body": {"a": float("nan")}}, REPAIR, "JSON cannot"),
    ],
)
def test_what_cannot_be_read_is_refused_by_number(tmp_path, changes, error, told):
    where = r"some\.json, interaction 1: "
    with pytest.raises(CassetteError, match=f"{where}.*{told}.*{error}"):
        read(tmp_path, json.dumps(tree(**changes)), "some.json")


def test_date_that_yaml_makes_of_a_text_is_refused(tmp_path):
    text = PYDANTIC_AI.replace("{b: ü}", "{b: 2026-11-22}")

    with pytest.raises(CassetteError, match="parsed_body holds what JSON cannot"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", FORMAT),
        ("- 1", FORMAT),
        ("interactions: []\nversion: 1", EMPTY),
        ("interactions: {}\nversion: 1", FORMAT),
        ("interactions: [1]\nversion: 2", FORMAT),
        ("interactions: [1]", FORMAT),
        ("interactions: [1]\nversion: 1", REPAIR),
        ("interactions: [{request: {}}]\nversion: 1", REPAIR),
        ("interactions: [1]\nversion: 1\nrecorded_with: x", UNREAD),
        ("version: 1\nversion: 1\ninteractions: [1]", FORMAT),
        ('{"version": 1, "version": 1, "interactions": []}', FORMAT),
        ("a: [", FORMAT),
        ("a: *b", FORMAT),
        ("\0", FORMAT),
        (b"\xff\xfe", FORMAT),
        (b"\x1f\x8b00", FORMAT),
        ("[" * 100_000, FORMAT),
    ],
)
def test_what_is_no_cassette_is_refused(tmp_path, text, error):
    with pytest.raises(CassetteError, match=rf"(?s)^some\.yaml.*{error}"):
        read(tmp_path, text)


def test_missing_file_is_told(tmp_path):
    with pytest.raises(CassetteError, match=r"none\.yaml: there is no such cassette"):
        read_cassette(tmp_path / "none.yaml")


def test_errors_show_no_content(tmp_path):
    text = VCRPY.replace("'{", "'{sk-planted-secret-of-mine").replace("hello", "[", 1)

    with pytest.raises(CassetteError) as caught:
        read(tmp_path, text.replace("version: 1", "version: [sk-planted"))

    assert "planted" not in str(caught.value)


def test_recorded_exchanges_of_vendors_are_all_read():
    files = corpus()
    index = json.loads((files[0].parent.parent / "index.json").read_text("utf-8"))
    found = {f"{path.parent.name}/{path.name}": read_cassette(path) for path in files}

    assert {each["file"]: each["n_requests"] for each in index} == {
        name: len(exchanges) for name, exchanges in found.items()
    }
    for entry in index:
        statuses = [each.response.status for each in found[entry["file"]]]
        assert statuses == entry["statuses"]


def test_reading_loads_neither_client_nor_recorder():
    import subprocess
    import sys

    code = (
        "import sys, compat.wire.cassette_files;"
        " print({'vcr', 'httpx2'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "set()\n"
