"""``refengine cassette`` as a process: what it prints, serves and leaves with."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from openai import OpenAI

USER = {"role": "user", "content": "hi"}


def line(*arguments):
    return [sys.executable, "-m", "refengine", "cassette", *map(str, arguments)]


def command(*arguments):
    return subprocess.run(
        line(*arguments), capture_output=True, text=True, check=False, timeout=60
    )


@contextmanager
def started(*arguments):
    """Start a server; yield the process and the base URL it printed."""
    with subprocess.Popen(
        line("serve", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.json"
    script = ["assistant:one", "assistant:two"]
    path.write_text(json.dumps({"agent": {}, "model_script": script}), "utf-8")
    return path


def said(url):
    with OpenAI(base_url=url, api_key="any", max_retries=0) as asking:
        answer = asking.chat.completions.create(model="m", messages=[USER])
    return answer.choices[0].message.content


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_serve_prints_its_address_serves_and_ends_when_asked(scenario, ending) -> None:
    with started(scenario) as (process, url):
        assert said(url) == "one"
        assert said(url.replace("/v1", "/ann/v1")) == "one"
        process.send_signal(ending)
        rest, errors = process.communicate(timeout=60)

    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/v1")
    assert (process.returncode, errors) == (0, "")
    assert rest.splitlines() == [
        "session default: 1 call answered, 1 answer left",
        "session ann: 1 call answered, 1 answer left",
    ]


def test_serve_takes_the_port_and_the_model_it_is_given(scenario) -> None:
    with started(scenario, "--model", "my-model") as (_, first):
        port = first.removesuffix("/v1").rpartition(":")[2]
        with OpenAI(base_url=first, api_key="any") as asking:
            assert [each.id for each in asking.models.list()] == ["my-model"]
        done = command("serve", scenario, "--port", port)

    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in done.stderr
    with started(scenario, "--port", port) as (_, again):
        assert again == first


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "scenario.json is not a scenario"),
        ('{"agent": {}, "model_scrip": []}', "there is no such field"),
        ('{"agent": {}, "model_script": ["hi"]}', "model_script.0"),
        (
            '{"agent": {}, "model_script": ["user:hi"]}',
            "write an answer of the",
        ),
    ],
)
def test_serve_tells_what_is_wrong_with_a_scenario(scenario, text, told) -> None:
    scenario.write_text(text, "utf-8")

    done = command("serve", scenario)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("refengine cassette serve: ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_serve_tells_that_a_file_is_missing(tmp_path) -> None:
    done = command("serve", tmp_path / "none.json")

    assert done.returncode == 2
    assert "none.json: No such file or directory" in done.stderr


def test_serve_has_no_option_for_a_host() -> None:
    assert "--host" not in command("serve", "--help").stdout


def test_without_the_extra_its_name_is_told(scenario) -> None:
    code = (
        "import sys\nsys.modules['uvicorn'] = None\n"
        "from refengine.__main__ import main\n"
        f"main(['cassette', 'serve', {str(scenario)!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "uvicorn is not installed: pip install 'backports-zstd>=" in done.stderr
    assert " 'httpx2>=" in done.stderr
    assert " 'uvicorn>=" in done.stderr


@pytest.fixture
def recorded(tmp_path):
    """Record a cassette with a manifest beside it."""
    source = tmp_path / "scenario.json"
    script = ["assistant:[1:add({})]", "assistant:a long answer " + "x" * 90]
    scenario = {
        "agent": {"tools": [{"name": "add", "result": "3"}]},
        "model_script": script,
        "runs": [{"input": ["user:hi"], "streaming": True}],
    }
    source.write_text(json.dumps(scenario), "utf-8")
    path = tmp_path / "cassettes" / "a.yaml"
    done = command("record", source, path, "--date", "2026-11-22")
    assert done.returncode == 0, done.stderr
    return done, path


def test_record_tells_what_came_of_each_run(recorded) -> None:
    done, path = recorded

    assert done.stdout.splitlines() == [
        f"run 1: a long answer {'x' * 90}",
        "2 exchanges in a.yaml",
    ]
    assert "date = 2026-11-22" in path.with_name("manifest.toml").read_text("utf-8")


def test_record_does_not_write_over_a_cassette_unless_told(recorded, scenario) -> None:
    _, path = recorded
    before = path.read_bytes()

    done = command("record", path.parent.parent / "scenario.json", path)

    assert done.returncode == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("scenario", "told"),
    [
        ({"agent": {}}, "the scenario has no runs"),
        ({"agent": {"handlers": [{}]}, "runs": [{}]}, "agents[0].handlers cannot be"),
        ({"agents": []}, "is not a scenario"),
    ],
)
def test_record_tells_what_it_cannot_record(tmp_path, scenario, told) -> None:
    source = tmp_path / "scenario.json"
    source.write_text(json.dumps(scenario), "utf-8")

    done = command("record", source, tmp_path / "a.yaml")

    assert done.returncode == 2
    assert told in done.stderr
    assert not (tmp_path / "a.yaml").exists()


def test_replay_prints_a_line_for_each_exchange(recorded) -> None:
    _, path = recorded

    done = command("replay", path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "POST /v1/chat/completions  200  5 events: [calls add]",
        f"POST /v1/chat/completions  200  7 events: a long answer {'x' * 45}…",
    ]


def test_replay_finds_a_file_that_its_manifest_does_not_tell(recorded) -> None:
    _, path = recorded
    text = path.read_text("utf-8")
    path.write_text(text.replace("long", "short"), "utf-8")

    done = command("replay", path)

    assert done.returncode == 1
    assert "a.yaml" in done.stdout


@pytest.mark.parametrize("text", [None, "nothing", "version: 1\ninteractions: []\n"])
def test_replay_tells_that_a_file_cannot_be_played(tmp_path, text) -> None:
    path = tmp_path / "a.yaml"
    if text is not None:
        path.write_text(text, "utf-8")

    done = command("replay", path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("refengine cassette replay: a.yaml: ")


# --- secrets in cassettes that others wrote

LEAK = """\
version: 1
interactions:
- request:
    method: POST
    uri: https://api.example.com/v1/chat/completions?key=KEY
    headers: {content-type: [application/json], NAME: ["VALUE"], date: [today]}
    body: '{"messages": [], "metadata": {"db_password": "INNER"}}'
  response:
    status: {code: 200, message: OK}
    headers: {content-type: [application/json], set-cookie: ["sid=VALUE; path=/"]}
    body: {string: '{"id": "1"}'}
"""
SECRET = "vk-Zr8Lq2Wm5Tn9Xc4Bh7Jd"  # noqa: S105  # of nobody


OUT = "SCRUBBED"


def _leak(key=OUT, name="x-api-key", value=OUT, inner=OUT):
    """Return a cassette with these in its places."""
    leak = LEAK.replace("KEY", key).replace("NAME", name)
    return leak.replace("INNER", inner).replace("VALUE", value)


@pytest.mark.parametrize(
    ("leak", "place"),
    [
        ({"key": SECRET}, "the address"),
        ({"value": SECRET}, "request header x-api-key"),
        ({"name": "x-db-token", "value": SECRET}, "request header x-db-token"),
        ({"name": "openai-organization", "value": "org-" + "a1" * 12}, "openai-org"),
        ({"value": SECRET}, "response header set-cookie"),
        ({"name": "cookie", "value": f"consent=none; sid={SECRET}"}, "header cookie"),
        ({"inner": SECRET}, "request body at metadata.db_password"),
    ],
)
def test_scan_names_the_place_of_a_secret_and_mends_it(tmp_path, leak, place) -> None:
    path = tmp_path / "cassettes" / "leak.yaml"
    path.parent.mkdir()
    path.write_text(_leak(**leak), "utf-8")
    found = command("scan", tmp_path)
    mended = command("scan", path, "--mend")

    assert (found.returncode, mended.returncode) == (1, 0), found.stderr
    assert place in found.stdout
    assert found.stdout.startswith(f"{path}: interaction 1, ")
    assert found.stdout.endswith("1 cassette, 1 with secrets\n")
    assert SECRET not in found.stdout
    assert SECRET not in path.read_text("utf-8")
    assert command("scan", tmp_path).stdout == "1 cassette, 0 with secrets\n"
    assert command("replay", path).returncode == 0


@pytest.mark.parametrize("value", ["Bearer <REDACTED>", "test_openai_api_key", "****"])
def test_what_another_tool_put_in_the_place_of_a_secret_is_none(
    tmp_path, value
) -> None:
    path = tmp_path / "clean.yaml"
    path.write_text(_leak(name="authorization", value=value), "utf-8")

    found = command("scan", path)
    assert (found.stdout, found.returncode) == ("1 cassette, 0 with secrets\n", 0)


def test_a_folder_without_a_cassette_passes_no_scan(tmp_path) -> None:
    found = command("scan", tmp_path)

    assert found.returncode == 4
    assert found.stderr == f"refengine cassette scan: {tmp_path}: has no cassette\n"


def test_what_would_be_lost_is_not_mended(tmp_path) -> None:
    path, text = tmp_path / "leak.yaml", _leak(value=SECRET) + "metadata: {of: me}\n"
    path.write_text(text, "utf-8")
    found = command("scan", path, "--mend")

    assert found.returncode == 2
    assert "leak.yaml: it has metadata, so it is not written anew" in found.stderr
    assert path.read_text("utf-8") == text


def test_compare_proposes_what_makes_a_recording_replay(tmp_path) -> None:
    for name, drawn in (("one", "0123456789ab"), ("other", "ba9876543210")):
        body = json.dumps({"messages": [], "trace": drawn})
        request = {
            "method": "POST",
            "uri": "http://127.0.0.1:1/v1/chat",
            "headers": {"content-type": ["application/json"]},
            "body": body,
        }
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": "{}"},
        }
        interaction = {"request": request, "response": response}
        cassette = {"version": 1, "interactions": [interaction]}
        (tmp_path / f"{name}.json").write_text(json.dumps(cassette), "utf-8")

    done = command("compare", tmp_path / "one.json", tmp_path / "other.json")

    serve = f"refengine cassette serve {tmp_path / 'one.json'}"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "1 request compared",
        "body.json.trace: looks like an id that is drawn anew, in 1 of 1 request",
        '  "0123456789ab"',
        '  "ba9876543210"',
        f"to leave out what was drawn: {serve} --field trace",
        "the rest is equal",
    ]
