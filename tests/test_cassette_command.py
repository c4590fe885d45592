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
    assert "uvicorn is not installed: pip install 'httpx2>=" in done.stderr


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
