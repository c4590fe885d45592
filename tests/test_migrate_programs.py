"""Programs as subjects of ``migrate check``: real processes against the real server."""

import errno
import json
import os
import shlex
import shutil
import socket
import sys
from pathlib import Path

import pytest

from compat.cli.main import main
from compat.migration.pairs import PlayError
from compat.migration.programs.commands import (
    MissingProgramError,
    NoCommandError,
    NoSourceError,
    ProgramCommand,
    Turns,
    parse_command,
    words_in,
)
from compat.migration.programs.runner import ProgramRunner
from compat.migration.programs.side import ProgramPlayed
from compat.migration.subject_runner import CheckOptions
from compat.report.migration_json import PairReport
from compat.wire.server.network import OwnNetwork, own_network
from compat.wire.server.programs import ProgramServer
from refengine.testing.channels import Seen, project
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario

PROGRAM = Path(__file__).parent / "programs" / "plain.py"


def command(fault: str = "") -> str:
    return shlex.join([sys.executable, "plain.py", *([fault] if fault else [])])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    shutil.copy(PROGRAM, folder)
    monkeypatch.chdir(folder)


def world(*script: object, turns: int = 1) -> Scenario:
    runs = [{"input": ["user:a"], "continues": bool(at)} for at in range(turns)]
    data = {"agent": {}, "runs": runs, "model_script": list(script)}
    return read_scenario(data, "a test")


def played(
    fault: str,
    *worlds: Scenario,
    turns: Turns = "lines",
    timeout: float = 20,
    network: OwnNetwork | None = None,
    more: str = "",
) -> list[ProgramPlayed]:
    """Play worlds with the program; raises PlayError."""
    how = CheckOptions(timeout=timeout)
    with ProgramServer(network) as server:
        of: ProgramCommand = parse_command(f"{command(fault)} {more}", turns)
        runner = ProgramRunner(of, "new", server, how)
        try:
            return list(runner.play_all(worlds))
        finally:
            runner.close()


def check(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["migrate", "check", *line])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), " ".join((out + err).split())


def pair(new: str, *more: str, old: str = "") -> list[str]:
    sides = ["--old-cmd", command(old), "--new-cmd", command(new)]
    return [*sides, "--turns", "sessions", "--examples", "20", *more]


def entries(of: ProgramPlayed, channel: str) -> list[dict[str, object]]:
    return [dict(each.value) for each in project(Seen(of.jsonl), channel)]


def test_program_that_does_the_same_is_identical(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = check(capsys, *pair(""))

    assert code == 0, out
    assert "HOLDS WEAKLY identical" in out


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("fault", "divergence"),
    [
        ("cold", "SETTINGS"),
        ("tools", "TOOLS_ORDER"),
        ("toolless", "TOOLS_MERGE"),
        ("backwards", "ORDER"),
        ("ids", "MESSAGE_CHANGED"),
        ("serial", "MESSAGE_CHANGED"),
        ("forgetful", "MESSAGE_LOST"),
        ("retries", "EXTRA_CALL"),
        ("swallows", "ANSWER"),
        ("cut", "ERROR_LOST"),
        ("writes", "EFFECT_EXTRA"),
    ],
)
def test_divergence_of_programs_is_reported_as_any_other(
    fault: str, divergence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("report.json")
    old = "streams" if fault == "cut" else ""

    code, out = check(capsys, *pair(fault, "--json", str(file), old=old))

    report = json.loads(file.read_text())
    PairReport.model_validate(report)
    assert (code, report["exit"]) == (1, 1), out
    assert report["divergence"]["code"] == divergence
    assert f" {divergence} " in out
    assert report["header"]["new"] == command(fault)
    assert len(report["world"]["model_script"]) <= 4
    assert len(report["world"].get("runs", ())) <= 2
    assert ("I can't help with that." in out) == (fault == "swallows")


TRACED = """\
import os, runpy, sys

sys.argv = ["plain.py", *filter(None, [os.environ.get("TRACED")])]
runpy.run_path("plain.py", run_name="__main__")
"""


def test_what_a_command_sets_of_its_environment_is_of_that_side_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So an observer that a variable turns on is checked in a program."""
    Path("agent.py").write_text(TRACED, "utf-8")
    agent = shlex.join([sys.executable, "agent.py"])
    line = pair("", "--json", "report.json")
    line[line.index("--old-cmd") + 1] = agent
    line[line.index("--new-cmd") + 1] = f"TRACED=toolless {agent}"

    code, out = check(capsys, *line)

    assert code == 1, out
    report = json.loads(Path("report.json").read_text())
    assert report["divergence"]["code"] == "TOOLS_MERGE"
    assert report["header"]["new"] == f"TRACED=toolless {agent}"


@pytest.mark.one_in(3)
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not there")
@pytest.mark.parametrize(
    ("fault", "divergence"),
    [
        ("", None),
        ("forgetful", "MESSAGE_LOST"),
        ("tools", "TOOLS_ORDER"),
        ("ids", "MESSAGE_CHANGED"),
        ("cold", "SETTINGS"),
        ("serial", "MESSAGE_CHANGED"),
        ("retries", "EXTRA_CALL"),
        ("cut", "ERROR_LOST"),
        ("swallows", "ANSWER"),
    ],
)
def test_fault_is_found_in_a_program_of_another_language(
    fault: str, divergence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(PROGRAM.with_name("plain.mjs"), Path())
    file = Path("report.json")
    line = pair("", "--json", str(file), old="streams" if fault == "cut" else "")
    line[line.index("--new-cmd") + 1] = f"node plain.mjs {fault}"

    code, out = check(capsys, *line)

    report = json.loads(file.read_text())
    assert code == (0 if divergence is None else 1), out
    if divergence is None:
        assert report["holds"] == "identical"
        return
    assert report["divergence"]["code"] == divergence
    assert len(report["world"]["model_script"]) <= 4
    assert len(report["world"].get("runs", ())) <= 2


def test_session_of_lines_is_one_start_and_one_of_sessions_is_none() -> None:
    one, other = (
        played("", world("assistant:x", "assistant:y", turns=2), turns=turns)[0]
        for turns in ("lines", "sessions")
    )

    assert entries(one, "requests") == entries(other, "requests")
    assert [each["answer"] for each in entries(one, "answer")] == ["x"]
    assert [each["answer"] for each in entries(one, "second_turn")] == ["y"]


def test_turns_that_are_posted_are_those_that_are_read() -> None:
    some = world("assistant:x", "assistant:y", turns=2), world("assistant:z")
    posted, read = (played("", *some, turns=turns) for turns in ("http", "sessions"))

    assert [each.jsonl for each in posted] == [each.jsonl for each in read]


@pytest.mark.parametrize(
    ("fault", "word"), [("fails", "status 500"), ("drops", "connection closed")]
)
def test_posted_turn_without_an_answer_is_an_error_of_it(fault: str, word: str) -> None:
    (found,) = played(fault, world("assistant:x"), turns="http")

    assert [each["error"] for each in entries(found, "errors")] == [word]


def test_program_in_a_network_of_its_own_reaches_its_model_and_nothing_else() -> None:
    with own_network() as network, socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        if network is None:
            pytest.skip("this system gives no network namespaces")
        (shut,) = played("reaches", world("assistant:x"), network=network, more=port)
        (open_,) = played("reaches", world("assistant:x"), more=port)

    assert shut.requests == open_.requests == 1
    refused = str(errno.ECONNREFUSED)
    found = [entries(each, "answer")[0]["answer"] for each in (shut, open_)]
    assert found == [refused, "0"]


def test_turns_are_posted_into_a_network_of_its_own() -> None:
    some = world("assistant:x")
    with own_network() as network:
        (inside,) = played("", some, turns="http", network=network)
    (outside,) = played("", some, turns="http")

    assert inside.jsonl == outside.jsonl


def test_program_that_ends_instead_of_listening_is_told_by_its_exit() -> None:
    (found,) = played("exits", world("assistant:x"), turns="http")

    assert [each["error"] for each in entries(found, "errors")] == ["exit 1"]


def test_session_begins_with_nothing_said_in_the_one_before() -> None:
    same = world("assistant:x")
    first, second = played("", same, same, turns="sessions")

    assert first.jsonl == second.jsonl


def test_answer_that_is_an_error_ends_a_plain_program() -> None:
    (found,) = played("", world({"error": "invalid_request"}))

    (error,) = entries(found, "errors")
    assert (error["error"], error["point"]) == ("exit 1", "turn")
    assert entries(found, "answer")[0]["status"] == "failed"


def running_in(folder: Path) -> bool:
    """Tell whether another process has this folder, or one in it, for its own."""
    return any(
        each.name != str(os.getpid()) and _cwd(each).is_relative_to(folder)
        for each in Path("/proc").glob("[0-9]*")
    )


def _cwd(process: Path) -> Path:
    try:
        return Path(process, "cwd").readlink()
    except OSError:  # it has ended
        return Path()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("hangs", "did not answer turn 1 within"),
        ("floods", "printed more than 4 MB without an answer to turn 1"),
    ],
)
@pytest.mark.parametrize("turns", ["lines", "http"])
def test_program_that_cannot_be_played_is_told_and_leaves_nothing(
    fault: str,
    says: str,
    turns: Turns,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("compat.migration.programs.side.START", 1.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(PlayError, match=says):
        played(fault, world("assistant:x"), turns=turns, timeout=1)

    assert not running_in(tmp_path)
    assert list(tmp_path.glob("refengine-*")) == []


def test_children_that_a_program_leaves_are_told_and_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    (found,) = played("parent", world("assistant:x"))

    (effect,) = entries(found, "effects")
    assert (effect["name"], effect["data"]) == ("processes left running", 2)
    assert not running_in(tmp_path)
    assert list(tmp_path.glob("refengine-*")) == []


def test_daemon_that_keeps_nothing_of_its_program_is_told_and_ended(
    tmp_path: Path,
) -> None:
    (found,) = played("daemon", world("assistant:x"), more=str(tmp_path))

    (effect,) = entries(found, "effects")
    assert (effect["name"], effect["data"]) == ("processes left running", 1)
    lines = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline")]
    assert not any(str(tmp_path).encode() in each for each in lines)


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("silent", 4, "never asks the model: in its first turn nothing came"),
        ("exits", 4, "it ended with exit 1: cannot go on"),
        ("chatty", 3, "wrote a line that is not an answer: 'starting'"),
    ],
)
def test_program_that_says_nothing_to_its_model_is_told_at_once(
    fault: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = "sessions" if fault == "chatty" else "lines"
    file = Path("report.json")
    line = pair(fault, "--turns", f"new={turns}", "--json", str(file))
    found, out = check(capsys, *line)

    assert found == code, out
    assert PairReport.model_validate_json(file.read_text()).exit == code
    assert f"CANNOT BE JUDGED new {command(fault)!r}" in out
    assert says in out


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("", 0, "HOLDS WEAKLY same-up-to-volatile"),
        ("one", 1, "PAIRING The call `c2` has no result in NEW, and one in OLD"),
    ],
)
def test_program_that_moved_to_another_vendor_is_judged(
    fault: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(PROGRAM.with_name("other.py"), Path())
    line = pair("")
    line[line.index("--new-cmd") + 1] = command(fault).replace("plain", "other")

    found, out = check(capsys, *line)

    assert found == code, out
    assert says in out
    assert "old speaks OpenAI chat completions new speaks Anthropic Messages" in out
    assert "not compared: model of both sides (each vendor has models" in out


@pytest.mark.parametrize(("fault", "code"), [("thinks", 0), ("thoughtless", 1)])
def test_thoughts_that_do_not_come_back_are_a_divergence(
    fault: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(PROGRAM.with_name("other.py"), Path())
    sides = ["--old-cmd", command("thinks"), "--new-cmd", command(fault)]
    line = [each.replace("plain", "other") for each in sides]

    found, out = check(capsys, *line, "--turns", "sessions", "--examples", "20")

    assert found == code, out
    assert ('"thoughts"' in out) == bool(code)


def test_error_of_a_turn_is_told_with_what_the_program_logged_meanwhile() -> None:
    (found,) = played("", world({"error": "invalid_request"}))

    (error,) = Seen(found.jsonl).of("event")
    assert error["data"]["error"]["text"].startswith("urllib.error.HTTPError")


def test_what_a_program_writes_is_an_effect_of_its_turn_and_put_back() -> None:
    both = world("assistant:x", "assistant:y", turns=2)

    first, again = played("writes", both, both, turns="sessions")

    told = [{"name": "notes.txt", "holds": "hello\n" * n} for n in (1, 2)]
    assert [each["data"] for each in entries(first, "effects")] == told
    assert again.jsonl == first.jsonl


def test_sessions_of_the_users_own_are_worlds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    add = {"name": "add", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": add}
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "4711, please"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "assistant", "content": "It is 3."},
    ]
    Path("chats.jsonl").write_text(json.dumps({"messages": chat}) + "\n")
    file = Path("report.json")

    code, out = check(capsys, *pair("", "--worlds", "chats.jsonl", "--json", str(file)))

    assert code == 0, out
    (given,) = json.loads(file.read_text())["header"]["given"]
    assert (given["file"], given["played"]) == ("chats.jsonl", 1)


def test_effect_that_a_program_posts_is_counted() -> None:
    (once,) = played("posts", world("assistant:x"))
    (twice,) = played("posts-twice", world("assistant:x"))

    sent = [(each["name"], each["data"]) for each in entries(twice, "effects")]
    assert sent == [("mailed", {"to": "a"})] * 2
    assert len(entries(once, "effects")) == 1


def test_worlds_speak_the_words_of_the_source_in_any_language(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.mjs").write_text("const x = 'A-1'; // \"pay back\"\n")
    (folder / "b.py").write_text("def f(x):\n    return x == 'A-2'\n")

    assert set(words_in(folder)) == {"A-1", "A-2", "pay back"}
    with pytest.raises(NoSourceError, match="holds no source"):
        words_in(tmp_path / "none")


def test_own_folder_is_not_written_by_a_session() -> None:
    here = Path()
    before = sorted(here.iterdir())

    played("", world("assistant:x"))

    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["--old-cmd", "python a.py"], "give both --old-cmd and --new-cmd"),
        (["--old-cmd", "a", "--new-cmd", "b", "old.py", "new.py"], "go with --require"),
        (
            ["--old-cmd", "a", "--new-cmd", "a", "--new-setup", "t.py"],
            "turned on by its command: --new-cmd 'NAME=VALUE COMMAND'",
        ),
        (["--old-cmd", "no-such-program", "--new-cmd", "b"], "there is no program"),
        (["--old-cmd", "'", "--new-cmd", "b"], "is not a command"),
        (["--old-cmd", "A=1", "--new-cmd", "b"], "(it only sets variables)"),
        (["--turns", "words"], "says no way to read turns"),
    ],
)
def test_mistakes_on_the_line_are_usage(
    line: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = check(capsys, *line)

    assert code == 2
    assert says in out


def test_files_of_the_folder_are_named_in_the_copy_of_it() -> None:
    found = parse_command("python plain.py -x plain.py")

    assert found.folder == Path(os.path.realpath(Path.cwd()))
    with pytest.raises(NoCommandError):
        parse_command("")
    with pytest.raises(MissingProgramError):
        parse_command("no-such-program plain.py")
