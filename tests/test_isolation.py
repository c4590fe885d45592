"""A session's code runs apart: its folder, environment, sockets, HOME and TMPDIR."""

import errno
import os
import shutil
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from compat.migration import session_copy as copying
from compat.migration.assertion import assert_migrates
from compat.migration.options import NotAnAddressError, Reach, address
from compat.migration.refs import RefError, located, parse_ref
from compat.migration.replies import SideFault
from compat.migration.subject_process import SubjectProcess
from refengine.testing import read_scenario

HEAD = """
import os, socket, subprocess, sys, tempfile
from pathlib import Path
from refengine import AgentMiddleware

HERE = Path(__file__).parent

def subject(world):
    def tell(ctx, state):
        world.effect("told", run(world))
    return [AgentMiddleware(before_chat_model=tell)]

"""
WORLD = read_scenario(
    {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": ["user:a"]}]}
)


@pytest.fixture
def told(tmp_path):
    """Return a function that plays a subject ``run(world)``, and what it told."""
    sides = []

    def tells(body, sessions=1, *, cwd=None, ref=None, reach=None, folder=tmp_path):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mw.py").write_text(HEAD + body, "utf-8")
        where = parse_ref(ref or str(folder / "mw.py"), cwd=cwd)
        side = SubjectProcess(where, "old", reach=reach or Reach()).waited()
        sides.append(side)
        played = [side.play(WORLD) for _ in range(sessions)]
        effects = [each for one in played for each in one.trace.of("effect")]
        return [
            e.data["data"] for e in effects if e.data["name"] not in {"file", "program"}
        ]

    vars(tells)["sides"] = sides
    yield tells
    for side in sides:
        side.close()


def test_a_session_finds_its_folder_as_it_was(told, tmp_path) -> None:
    (tmp_path / "kept.txt").write_text("kept", "utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "lost.txt").write_text("lost", "utf-8")
    found = told(
        """
def run(world):
    found = {str(each.relative_to(HERE)): each.is_file() and each.read_text()
             for each in sorted(HERE.rglob("*")) if each.name != "mw.py"}
    around = [os.listdir(each) for each in (Path.home(), tempfile.gettempdir())]
    with open("kept.txt", "a") as file:
        file.write(", and more")
    Path("new/deep").mkdir(parents=True)
    Path("new/deep/er.txt").write_text("new")
    os.remove("sub/lost.txt"), os.rmdir("sub")
    Path.home().joinpath("x").touch(), Path(tempfile.gettempdir(), "y").touch()
    return [found, *around]
""",
        sessions=3,
    )

    first = {"kept.txt": "kept", "sub": False, "sub/lost.txt": "lost"}
    assert found == [[first, [], []]] * 3
    assert (tmp_path / "kept.txt").read_text("utf-8") == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.txt", "mw.py", "sub"]


def test_what_another_program_writes_is_put_back_too(told) -> None:
    found = told(
        """
def run(world):
    found = Path("count").exists() and Path("count").read_text()
    code = "open('count', 'a').write('x')"
    subprocess.run([sys.executable, "-c", code], check=True)
    return found
""",
        sessions=3,
    )

    assert found == [False] * 3


def test_a_session_begins_in_its_folder_wherever_the_last_one_went(told) -> None:
    found = told(
        """
def run(world):
    here = os.getcwd() == str(HERE)
    os.chdir("/")
    return here
""",
        sessions=2,
    )

    assert found == [True] * 2


def test_the_copy_is_gone_when_the_side_is_closed(told) -> None:
    told("def run(world):\n    Path('x').touch()")
    copy = told.sides[0].loaded.folder
    assert copy.exists()
    told.sides[0].close()

    assert not copy.parent.parent.exists()


def test_what_is_observed_does_not_name_the_copy(told) -> None:
    (text,) = told("def run(world):\n    return [__file__, os.getcwd(), HERE.name]")

    assert text == ["/session/mw.py", "/session", "folder"]


def test_a_fault_names_the_file_of_the_user(told, tmp_path) -> None:
    with pytest.raises(SideFault, match=f"directory: '{tmp_path}/missing.json'"):
        told("open(HERE / 'missing.json')")


def test_where_the_user_stands_is_found_around_the_folder(told, tmp_path) -> None:
    found = told(
        "def run(world):\n    return [os.listdir('.'), Path('a/mw.py').exists()]",
        cwd=tmp_path,
        folder=tmp_path / "a",
    )

    assert found == [[["a"], True]]


def test_a_module_runs_in_a_copy_too(told, tmp_path) -> None:
    body = "from pack.near import word\ndef run(world):\n    return [word, __file__]"
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "near.py").write_text("word = 'near'", "utf-8")
    (tmp_path / "pack" / "__init__.py").touch()
    found = told(body, ref="pack.mw:subject", cwd=tmp_path, folder=tmp_path / "pack")

    assert found == [["near", "/session/pack/mw.py"]]


def test_an_earlier_commit_runs_apart_too(told, tmp_path) -> None:
    body = """
def run(world):
    Path("x").touch()
    return [__file__, sorted(set(os.listdir(".")) - {".git"})]
"""
    (tmp_path / "mw.py").write_text(HEAD + body, "utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *step], cwd=tmp_path, check=True)
    side = SubjectProcess(
        parse_ref("HEAD:mw.py", revisions=True, cwd=tmp_path), "old"
    ).waited()
    told.sides.append(side)
    found = [side.play(WORLD).trace.of("effect")[0].data["data"] for _ in range(2)]

    assert found == [["/session/mw.py", ["mw.py", "x"]]] * 2
    assert not (tmp_path / "x").exists()


def test_caches_and_environments_are_not_copied(told, tmp_path) -> None:
    for name in (".git", "node_modules", "__pycache__", ".venv", "data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
    (tmp_path / "data" / "mine").mkdir()
    (tmp_path / "data" / "mine" / "pyvenv.cfg").touch()
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "itself").symlink_to("itself")
    found = told(
        "def run(world):\n    return sorted(str(p) for p in Path().rglob('*'))"
    )

    assert found == [["data", "data/x", "mw.py"]]


def test_a_folder_that_is_too_large_is_refused_with_what_to_do(
    told, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(copying, "LARGEST", 2**20)
    (tmp_path / "data.bin").write_bytes(bytes(2**20))

    with pytest.raises(RefError, match=r"1 MB, most of it in 'data.bin': .*own"):
        told("")


@pytest.mark.parametrize(
    ("module", "step", "lost"),
    [
        (os, "access", "b.lock"),
        (shutil, "copy2", "b.lock"),
        (os, "scandir", "made"),
    ],
)
def test_what_vanishes_while_a_folder_is_copied_is_left_out(
    tmp_path, monkeypatch, module, step, lost
) -> None:
    (tmp_path / "a.txt").write_text("a", "utf-8")
    (tmp_path / "b.lock").write_text("b", "utf-8")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "c.txt").write_text("c", "utf-8")
    (tmp_path / "mw.py").write_text(HEAD, "utf-8")
    gone, before = tmp_path / lost, step != "access"
    real = getattr(module, step)

    def vanishing(path, *given, **named):
        """Do the step; what it is about vanishes before it, or right behind it."""
        found = None if before else real(path, *given, **named)
        if path in {gone, str(gone)}:
            (gone / "c.txt" if gone.is_dir() else gone).unlink()
            if gone.is_dir():
                gone.rmdir()
        return real(path, *given, **named) if before else found

    monkeypatch.setattr(module, step, vanishing)
    ref = parse_ref(str(tmp_path / "mw.py"))
    with located(ref) as place, copying.session_copy(ref, place) as copy:
        names = {each.name for each in copy.folder.iterdir()}

    assert not gone.exists()
    assert names - {"made"} == {"a.txt", "b.lock", "made", "mw.py"} - {lost, "made"}


def test_a_side_has_a_fixed_list_of_the_environment(told, monkeypatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("SECRET_KEY", "x")
    monkeypatch.setenv("OTHER", "y")
    names = ("TZ", "SECRET_KEY", "OTHER")
    body = f"def run(world):\n    return [os.environ.get(n) for n in {names}]"

    assert told(body) == [["UTC", None, None]]
    assert told(body, reach=Reach(env=("SECRET_KEY",))) == [["UTC", "x", None]]
    assert told(body, reach=Reach(env=("*",))) == [["UTC", "x", "y"]]


def test_a_variable_that_is_not_given_on_is_named(told, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")

    with pytest.raises(SideFault, match="so give --env SECRET_KEY"):
        told("os.environ['SECRET_KEY']")


def test_sockets_are_refused_and_put_down(told) -> None:
    body = """
def run(world):
    told = []
    for host in ("127.0.0.1", "api.example.com"):
        try:
            socket.create_connection((host, 9))
        except OSError as error:
            told.append([type(error).__name__, error.errno, str(error)[:60]])
    return told
"""
    refused = [
        ["ConnectionRefusedError", errno.ECONNREFUSED],
        ["gaierror", socket.EAI_NONAME],
    ]
    *doors, seen = told(body)

    assert doors == [
        {"door": True, "host": "127.0.0.1", "port": 9},
        {"door": True, "host": "api.example.com", "port": 9},
    ]
    assert [each[:2] for each in seen] == refused
    assert "the name 'api.example.com' is not looked up" in seen[1][2]


def test_a_socket_that_is_allowed_is_used_and_told(told) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        body = f"""
def run(world):
    socket.create_connection(("127.0.0.1", {port})).close()
    socket.create_connection(("localhost", {port})).close()
"""
        reach = Reach(net=(address(f"127.0.0.1:{port}"), ("localhost", port)))

        assert told(body, reach=reach) == [None]
        outside = told.sides[-1].play(WORLD).outside
        assert outside[0] == f"used the socket 127.0.0.1:{port}"


def test_what_is_written_elsewhere_is_told(told, tmp_path) -> None:
    folder, file = tmp_path / "a", tmp_path / "elsewhere.txt"
    told(f"def run(world):\n    open({str(file)!r}, 'w').close()", folder=folder)

    assert told.sides[0].play(WORLD).outside == (f"wrote {file}",)


@pytest.mark.parametrize(
    "more", ["", ", env={}", ", cwd='/'", ", cwd='/', env={**os.environ, 'A': 'b'}"]
)
def test_a_process_in_a_session_of_its_own_is_ended_with_the_side(told, more) -> None:
    body = f"""
def run(world):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    return subprocess.Popen(command, start_new_session=True{more}).pid
"""
    (pid,) = told(body)
    assert Path("/proc", str(pid)).exists()
    told.sides[0].close()

    with pytest.raises(OSError, match="No such"):
        _state(pid)


def _state(pid: int) -> None:
    """Raise OSError unless that process runs; nobody may have asked how it ended."""
    stat = Path("/proc", str(pid), "stat").read_text("utf-8")
    if stat.rpartition(")")[2].split()[0] == "Z":
        raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:x", "h:70000"])
def test_a_text_that_is_no_address_is_refused(text) -> None:
    with pytest.raises(NotAnAddressError, match="write HOST:PORT"):
        address(text)


def test_an_assertion_lets_through_what_it_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("A_NAME", "x")
    body = "def run(world):\n    return os.environ['A_NAME']"
    (tmp_path / "mw.py").write_text(HEAD + body, "utf-8")
    file = tmp_path / "mw.py"

    assert assert_migrates(file, file, examples=1, env=["A_NAME"]).holds == "identical"
    assert os.environ["A_NAME"] == "x"
    assert Path(file).exists()


def test_a_program_of_an_apart_side_reaches_no_server_of_this_machine(
    told, tmp_path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
        body = f"""
def run(world):
    command = [sys.executable, "-S", "-c", {code!r}]
    return subprocess.run(command, capture_output=True).returncode
"""
        assert told(body) == [0]
        server.accept()[0].close()
        assert told(body, reach=Reach(apart=True), folder=tmp_path / "b") == [1]
        with pytest.raises(BlockingIOError):
            server.accept()
