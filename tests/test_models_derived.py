"""Derived scripts: what is shipped, what a folder of cassettes is read into."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compat.models.conversations import key_of
from compat.models.derive import (
    INDEX,
    Derived,
    Source,
    cassettes,
    derive,
    index_of,
    left_for_later,
    main,
    read_derived,
    read_index,
    script_of,
    sources,
    table_of,
    text_of,
)
from compat.models.errors import (
    DerivedError,
    RequestError,
    TrafficError,
)
from compat.models.exchanges import read_exchanges
from compat.wire.cassette_files import read_cassette
from compat.wire.errors import CassetteError
from compat.wire.interfaces.chat import CHAT
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, play, run
from tests.models_worlds import (
    FOLDER,
    ROOT,
    SHIPPED,
    files_of_folder,
    of_folder,
    shipped,
)

FOUND = of_folder()
SCRIPTS = shipped()
WITH_FOLDER = pytest.mark.skipif(
    not FOLDER,
    reason=f"REFENGINE_CASSETTES is not set: {len(SCRIPTS)} scripts not derived anew",
)
CHATS = [each.file for each in FOUND if each.sessions]
each_chat = pytest.mark.parametrize(
    "file",
    CHATS
    or [
        pytest.param(
            "", marks=pytest.mark.skip("REFENGINE_CASSETTES has no cassette to read")
        )
    ],
)


def found(file: str) -> Derived:
    return next(each for each in FOUND if each.file == file)


def text_at(file: str) -> str:
    return (SHIPPED / script_of(file)).read_text("utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.file)
def test_shipped_script_says_where_it_comes_from(script: Derived):
    assert script.source.repository.startswith("https://")
    assert re.fullmatch("[0-9a-f]{40}", script.source.commit)
    assert script.source.path
    assert script.source.licence in {"MIT", "Apache-2.0"}
    assert re.fullmatch("[0-9a-f]{64}", script.sha256)
    assert script.sessions


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.file)
def test_shipped_script_is_written_as_it_was_read(script: Derived):
    assert text_of(script) == text_at(script.file)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.file)
def test_every_recorded_answer_is_asked_for(script: Derived):
    for session in script.sessions:
        trace = run(play(session.scenario, ReferenceEngine(SEED_001)))
        assert len(trace.of("model_request")) == len(session.scenario.model_script)


def test_index_has_every_shipped_script_and_its_exchanges():
    index = read_index(SHIPPED)
    chats = {file: counts[CHAT] for file, counts in index.items() if CHAT in counts}

    assert chats == {each.file: each.exchanges for each in SCRIPTS}


def test_page_lists_what_is_left_for_later():
    page = (ROOT / "docs" / "vendor-traffic.md").read_text("utf-8")
    index = read_index(SHIPPED)

    assert table_of(index) in page
    assert len(list(left_for_later(index))) > 20


def test_page_says_how_much_is_derived():
    page = (ROOT / "docs" / "vendor-traffic.md").read_text("utf-8")
    exchanges = sum(each.exchanges for each in SCRIPTS)
    sessions = sum(len(each.sessions) for each in SCRIPTS)

    assert (
        f"{exchanges} exchanges of {len(SCRIPTS)} files in {sessions} sessions" in page
    )


@WITH_FOLDER
def test_folder_has_chat_completions():
    assert CHATS


@pytest.mark.parametrize("path", files_of_folder(), ids=lambda path: path.name)
def test_cassette_of_the_folder_can_be_read(path: Path):
    derived = derive(path, Path(FOLDER))

    assert derived.exchanges + sum(derived.later.values()) > 0
    assert read_derived(text_of(derived), derived.file) == derived


@each_chat
def test_every_exchange_of_chat_completions_is_in_one_session(file: str):
    exchanges = read_cassette(Path(FOLDER) / file)
    derived = found(file)
    numbers = [n for each in derived.sessions for n in each.exchanges]

    assert len(numbers) + sum(derived.later.values()) == len(exchanges)
    assert len(set(numbers)) == len(numbers)


@each_chat
def test_derived_script_equals_the_shipped_one(file: str):
    if not (SHIPPED / script_of(file)).is_file():
        pytest.skip(f"no script is shipped for {file}")

    assert text_of(found(file)) == text_at(file)


@each_chat
def test_engine_sends_what_was_recorded_unless_a_note_says_otherwise(file: str):
    read = read_exchanges(read_cassette(Path(FOLDER) / file), file)
    steps = {step.number: step for step in read.steps}

    for session in found(file).sessions:
        trace: Any = run(play(session.scenario, ReferenceEngine(SEED_001)))
        sent = [
            [key_of(each) for each in seen.data["messages"]]
            for seen in trace.of("model_request")
        ]
        asked = [
            [key_of(each) for each in steps[n].request.messages]
            for n in session.exchanges
        ]
        changed = any("the client sent" in note for note in session.notes)
        assert len(sent) >= len(asked)
        assert changed or sent[: len(asked)] == asked


@WITH_FOLDER
def test_shipped_scripts_are_all_of_the_folder_they_came_from():
    index = read_index(SHIPPED)
    if {each.file for each in FOUND} != set(index):
        pytest.skip("REFENGINE_CASSETTES is another folder than the one of the scripts")

    assert index_of(FOUND) == index


CASSETTE = """\
version: 1
interactions:
- request:
    method: POST
    uri: https://vendor.example/v1/chat/completions
    headers: {}
    body: '{"messages": [{"role": "user", "content": "hi"}]}'
  response:
    status: {code: 200, message: OK}
    headers: {}
    body: {string: '{"choices": [{"message": {"content": "TEXT"}}]}'}
"""
OTHER = CASSETTE.replace("/chat/completions", "/responses")


def folder_of(root: Path, **files: str) -> Path:
    folder = root / "cassettes"
    (folder / "sub").mkdir(parents=True)
    for name, text in files.items():
        (folder / "sub" / f"{name}.yaml").write_text(text, "utf-8")
    return folder


def test_cassette_is_derived_with_its_source(tmp_path: Path):
    folder = folder_of(tmp_path, a=CASSETTE)
    entry = {"file": "sub/a.yaml", "source_repo": "r", "path": "p", "licence": "MIT"}
    (folder / INDEX).write_text(json.dumps([entry]), "utf-8")

    derived = derive(folder / "sub" / "a.yaml", folder)

    assert derived.file == "sub/a.yaml"
    assert derived.source == Source("r", "p", "", "MIT")
    [session] = derived.sessions
    assert session.scenario.model_script == ("assistant:TEXT",)
    assert session.scenario.runs[0].input == ("user:hi",)


def test_cassette_alone_is_derived_without_a_source(tmp_path: Path):
    folder = folder_of(tmp_path, a=CASSETTE)

    derived = derive(folder / "sub" / "a.yaml")

    assert derived.file == "a.yaml"
    assert derived.source == Source()
    assert read_derived(text_of(derived), "a") == derived


def test_cassette_of_other_apis_has_no_session(tmp_path: Path):
    folder = folder_of(tmp_path, a=OTHER)

    derived = derive(folder / "sub" / "a.yaml", folder)

    assert derived.sessions == ()
    assert derived.later == {"OpenAI Responses": 1}


def test_command_writes_scripts_and_lists_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = folder_of(tmp_path, a=CASSETTE, b=OTHER)
    out = tmp_path / "out"

    assert main([str(folder), str(out)]) == 0

    assert capsys.readouterr().out == (
        "OpenAI chat completions: 1 exchanges of 1 files in 1 sessions\n"
        "left for later:\n"
        "OpenAI Responses: sub/b.yaml (1)\n"
    )
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*.json")) == [
        "index.json",
        "sub/a.yaml.json",
    ]
    assert read_index(out) == {
        "sub/a.yaml": {CHAT: 1},
        "sub/b.yaml": {"OpenAI Responses": 1},
    }


def test_command_removes_scripts_of_cassettes_that_are_gone_and_nothing_else(
    tmp_path: Path,
):
    folder = folder_of(tmp_path, a=CASSETTE, b=CASSETTE)
    out = tmp_path / "out"
    main([str(folder), str(out)])
    (folder / "sub" / "b.yaml").unlink()
    (out / "mine.json").write_text("{}", "utf-8")

    assert main([str(folder), str(out)]) == 0

    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*.json")) == [
        "index.json",
        "mine.json",
        "sub/a.yaml.json",
    ]


def test_command_reads_on_after_a_file_that_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bad = CASSETTE.replace('{"messages"', '{"prompts"')
    folder = folder_of(tmp_path, a=bad, b="no cassette", c=CASSETTE)

    assert main([str(folder), str(tmp_path / "out")]) == 1

    said = capsys.readouterr()
    assert "1 exchanges of 1 files" in said.out
    assert "sub/a.yaml, interaction 1: request has no list of messages" in said.err
    assert "sub/b.yaml" in said.err


def test_command_runs_as_a_module(tmp_path: Path):
    command = [sys.executable, "-m", "compat.models.derive", str(tmp_path)]

    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


def test_scripts_are_not_written_among_the_cassettes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = folder_of(tmp_path, a=CASSETTE)

    assert main([str(folder), str(folder / "out")]) == 1

    assert "write to another folder" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_folder_without_a_cassette_is_an_error(tmp_path: Path):
    with pytest.raises(TrafficError, match="name another folder"):
        cassettes(tmp_path)


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[1]"])
def test_index_that_says_no_sources_is_an_error(tmp_path: Path, text: str):
    (tmp_path / INDEX).write_text(text, "utf-8")

    with pytest.raises(TrafficError, match="repair it, or remove it"):
        sources(tmp_path)


def test_what_cannot_be_read_is_told_by_file_and_place(tmp_path: Path):
    folder = folder_of(tmp_path, a=CASSETTE.replace("hi", "hi\\ud83d"), b="x: 1")
    broken = CASSETTE.replace('"user"', "5")
    (folder / "c.yaml").write_text(broken, "utf-8")

    with pytest.raises(CassetteError, match=r"sub/b.yaml"):
        derive(folder / "sub" / "b.yaml", folder)
    with pytest.raises(RequestError, match=r"c.yaml, interaction 1: .*role is none"):
        derive(folder / "c.yaml", folder)
    [session] = derive(folder / "sub" / "a.yaml", folder).sessions
    assert session.scenario.runs[0].input == ("user:hi<u+d83d>",)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "a" * 20,
        "AIza" + "b" * 30,
        "AKIA" + "C" * 16,
        "ghp_" + "d" * 30,
        "Bearer " + "e" * 20,
        "xoxb-" + "1" * 12,
        "eyJ" + "f" * 12 + ".eyJ" + "g" * 12,
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_not_written(tmp_path: Path, secret: str):
    folder = folder_of(tmp_path, a=CASSETTE.replace("TEXT", secret))
    derived = derive(folder / "sub" / "a.yaml", folder)

    with pytest.raises(TrafficError, match="scrub the cassette") as caught:
        text_of(derived)

    assert secret not in str(caught.value)
    assert main([str(folder), str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"sessions": [{"scenario": {}}], "source": {}}']
)
def test_file_that_is_no_derived_script_is_an_error(text: str):
    with pytest.raises(DerivedError, match=r"(?s)x.json: .*compat.models.derive"):
        read_derived(text, "x.json")
