"""No secret of any family reaches a file, in whatever form and place it came.

The families, forms and places are those of ``tests.made_secrets``; its search, which
knows what it looks for, is not the code under test. Its command tries all of them.
"""

import gzip
import json

import pytest
from rich.text import Text

from compat.cli.command import refuse
from compat.migration.programs.commands import words_in
from compat.report.migration_json import dump
from compat.report.terminal import console
from compat.wire.cassette_files import read_cassette
from compat.wire.exchanges import Exchange, Request, Response
from compat.wire.scrubbing import Scrubber, credentials_of
from compat.wire.scrubbing.names import names_a_secret
from compat.wire.scrubbing.scrubber import (
    json_without_secrets,
    output_scrubber,
    without_secrets,
)
from compat.wire.writing import scrubbed_file
from tests.made_secrets.cases import cases
from tests.made_secrets.encodings import ENCODINGS
from tests.made_secrets.families import NAMES, SHAPED
from tests.made_secrets.revealing import revealed
from tests.wire_support import URL, corpus

EVERY = 4
"""One case in so many is tried here; ``python -m tests.made_secrets`` tries all."""


def of(encoding):
    at = list(ENCODINGS).index(encoding)
    found = [each for each in cases() if each.encoding == encoding]
    return found[at % EVERY :: EVERY]


def told(found: Exchange) -> bytes:
    body = found.response.body
    if body.startswith(b"\x1f\x8b"):
        body = gzip.decompress(body)
    return b"\n".join([found.request.body, body, found.request.url.encode()])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_family_is_in_a_file_in_any_form(encoding):
    found = of(encoding)
    cores = [each.secret.core for each in found]
    before = b"\n".join(told(each.exchange) for each in found)
    data = scrubbed_file("a.yaml", [each.exchange for each in found], Scrubber())
    after = b"\n".join(told(Scrubber().exchange(each.exchange)) for each in found)

    assert len(found) > 20
    assert revealed(before, cores[::9]) == cores[::9]
    assert revealed(data, cores) == []
    assert revealed(after, cores) == []


@pytest.mark.parametrize("encoding", ["UTF-16", "base64 of gzip", "base64, a slice"])
def test_given_value_without_shape_or_name_is_found_in_every_form(encoding):
    given = "no shape & no name"
    made = ENCODINGS[encoding](f"it is {given}, they say")
    body = json.dumps({"text": made}).encode()
    found = Exchange(Request("POST", URL, {}, body), Response(200))

    assert revealed(told(found), [given]) == [given]
    assert revealed(told(Scrubber([given]).exchange(found)), [given]) == []


@pytest.mark.parametrize("name", NAMES)
def test_names_with_words_before_and_behind_name_a_secret(name) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "prompt_tokens",
        "next_page_token",
        "nextPageToken",
        "stop_token",
        "tokenizer",
        "secretary",
        "passenger",
        "compass",
        "key",
        "keyboard",
        "primary_key",
        "encrypted_content",
        "thoughtSignature",
        "password_hint",
        "bypass",
    ],
)
def test_names_that_only_look_so_name_no_secret(name) -> None:
    assert not names_a_secret(name)


@pytest.mark.parametrize(
    "text",
    [
        "the password is asked for twice",
        "api_key=os.environ['OPENAI_API_KEY']",
        'api_key="${OPENAI_API_KEY}"',
        "token: <your token>",
        "see http://localhost:3000/@scope/package",
        "password: please choose a good one",
        "a risk-based view of task-specific, ask-me-anything talks",
        "max_tokens=1024&stop_token=end",
        "docker run -u 1000:1000 image, git push -u origin main:main",
        "run --max-tokens 4096 --password-stdin --token-file tokens.txt",
        "SORT_KEY=abcdef0123456789abcdef and PRIMARY_KEY: id1234567890123456",
        "x-ratelimit-reset-tokens: 600ms, X-Request-Key: 0123456789",
        "it costs $1 to $5, or $6$ in all; see 1/2024 and 2/12",
        "<p>a password</p> <tokens>1024</tokens> <key>d</key>",
        "keys: 12345678, tokens: 12345678",
    ],
)
def test_texts_that_hold_no_secret_stay(text) -> None:
    assert Scrubber().text(text) == text


def test_password_is_taken_out_to_its_last_letter() -> None:
    tree = {"password": "a\"b'c\\d", "note": "kept"}
    text = f"it is {json.dumps(json.dumps(tree))} and postgres://me:a@b:c@db.example/x"

    found = Scrubber().text(text)

    assert "c\\" not in found
    assert "b:c" not in found
    assert "kept" in found
    assert "db.example/x" in found


def test_credentials_of_a_request_are_secrets_of_the_recording() -> None:
    headers = {
        "authorization": ("Bearer no-known-shape",),
        "cookie": ("a=first-value; b=x",),
        "proxy-authorization": ("Basic bWU6b3Blbi1zZXNhbWU=",),
        "accept": ("text/plain; charset=x",),
    }
    request = Request("GET", f"{URL}?my_api_key=in-the-query&q=hello-there", headers)

    assert credentials_of(request) == {
        "no-known-shape",
        "first-value",
        "bWU6b3Blbi1zZXNhbWU=",
        "open-sesame",
        "in-the-query",
    }


def test_recordings_of_vendors_have_no_false_alarm() -> None:
    """What is taken out of them is a password, a project, or taken out before."""
    known = {"mellon", "radiance", "portal", "cake", "gen-lang-client-0498264908"}
    scrubber = Scrubber()
    for path in corpus():
        for exchange in read_cassette(path):
            plain = told(exchange).decode("utf-8", "replace")
            found = told(scrubber.exchange(exchange)).decode("utf-8", "replace")
            for value in known | {"REDACTED"}:
                plain = plain.replace(value, "SCRUBBED")
            assert found.count("SCRUBBED") <= plain.count("SCRUBBED"), path.name


GIVEN = "a-value-of-no-shape"
KEY = "sk-proj-abcdefghijklmnop1234567890"
LINE = f"DB_PASSWORD='{GIVEN}' and {KEY}"


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "known-by-the-environment")
    monkeypatch.setenv("SHORT_PASSWORD", "short")
    monkeypatch.setenv("LANGUAGE_OF_MINE", "plain-english")


@pytest.mark.usefixtures("environment")
def test_lines_that_are_printed_hold_no_secret(capsys) -> None:
    out = console(output_scrubber().text)
    out.print(f"plain-english, short, known-by-the-environment {LINE}")
    out.print(Text(f"styled {LINE}", style="bold"))
    with pytest.raises(SystemExit):
        refuse("cassette", f"the program said {LINE}")
    said = "".join(capsys.readouterr())

    assert GIVEN not in said
    assert KEY not in said
    assert "known-by-the-environment" not in said
    assert "plain-english, short, SCRUBBED" in said
    assert said.count("SCRUBBED") == 7


@pytest.mark.usefixtures("environment")
def test_json_of_a_check_holds_no_secret() -> None:
    body = {"world": {"input": [LINE], "dbPassword": GIVEN}}
    told = dump(json_without_secrets({**body, "printed": {"old": [LINE]}}))

    assert GIVEN not in told
    assert KEY not in told


def test_kept_copies_of_own_files_hold_no_secret() -> None:
    files = {
        ".env": f"{LINE}\n".encode(),
        "agent.py": f'client = Client(api_key="{GIVEN}")\nask(client)\n'.encode(),
        "settings.json": json.dumps({"db": {"password": GIVEN}}).encode(),
        "picture.png": b"\x89PNG\x00\xff" + KEY.encode(),
        "plain.py": b"print('hello')\n",
    }

    found = without_secrets(files)

    assert revealed(b"\n".join(found.values()), [GIVEN, KEY]) == []
    assert found["plain.py"] == files["plain.py"]
    assert found["agent.py"] == b'client = Client(api_key="SCRUBBED")\nask(client)\n'


def test_key_in_a_source_is_no_word_of_worlds(tmp_path) -> None:
    (tmp_path / "agent.mjs").write_text(f"ask('refund', '{KEY}')", "utf-8")
    (tmp_path / "agent.py").write_text(f"ask('order', '{KEY}')", "utf-8")

    assert {*words_in(tmp_path)} == {"refund", "order"}


def test_families_are_many() -> None:
    assert len(SHAPED) > 60
