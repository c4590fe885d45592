"""What leaves an agent by no call of a tool is an effect: records, prints, files."""

import signal
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from compat.migration.options import Reach
from compat.migration.refs import parse_ref
from compat.migration.subject_process import SubjectProcess
from refengine.testing import read_scenario
from refengine.testing.isolation.deeds import Deeds
from refengine.testing.isolation.side_doors import SideDoors, steady

HEAD = """
import asyncio, json, logging, os, sqlite3, sys, tempfile, warnings
from pathlib import Path
from refengine import AgentMiddleware, ToolMiddleware, ChatModelAgentConfig

sys.path.insert(0, str(Path(__file__).parent / "site-packages"))
log = logging.getLogger("mine")

def subject(world):
    def tell(ctx, state):
        run(world)
    return [AgentMiddleware(before_chat_model=tell)]

"""
FRAMEWORK = """
import logging, warnings
def speaks():
    logging.getLogger("framework").warning("of the framework")
    warnings.warn("of the framework")
    print("of the framework")
def calls(function):
    function()
"""
KEYS = (
    *("level", "message", "category", "stream", "text"),
    *("path", "added", "content", "removed", "words"),
)
WORLD = read_scenario(
    {
        "agent": {"tools": [{"name": "t", "result": "r"}]},
        "model_script": ["assistant:[c1:t({})]", "assistant:a"],
        "runs": [{"input": ["user:a"]}],
    }
)


@pytest.fixture
def doors(tmp_path):
    """Return a function that plays a subject ``run(world)``: what went by which door.

    Of each session, with how many requests there were before.
    """
    sides = []

    def goes(body, sessions=1, *, world=WORLD, side_doors="own", head=HEAD):
        (tmp_path / "mw.py").write_text(head + body, "utf-8")
        ref = parse_ref(str(tmp_path / "mw.py"))
        reach = Reach(side_doors=side_doors)
        side = SubjectProcess(ref, "old", reach=reach, hash_seed=1).waited()
        sides.append(side)
        return [_seen(side.play(world).trace) for _ in range(sessions)]

    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "framework.py").write_text(FRAMEWORK, "utf-8")
    yield goes
    for side in sides:
        side.close()


def _seen(trace):
    requests, found = 0, []
    for each in trace:
        requests += each.kind == "model_request"
        if each.kind == "effect":
            data = dict(each.data["data"])
            assert data.pop("door") is True
            values = [data[key] for key in KEYS if key in data]
            found.append((requests, each.data["name"], *values))
    return found


def first(seen):
    """Return what went before the first request."""
    return [each[1:] for each in seen if each[0] == 0]


def test_a_record_is_its_level_and_its_message(doors) -> None:
    body = """
def run(world):
    log.info("one %s", 1)
    logging.getLogger("another").error("two")
    log.debug("nobody asked for this")
"""
    (seen,) = doors(body)

    assert first(seen) == [("log", "INFO", "one 1"), ("log", "ERROR", "two")]
    assert len(seen) == 4  # and before the second request again


def test_what_a_subject_sets_up_for_its_records_holds(doors) -> None:
    body = """
class Redact(logging.Filter):
    def filter(self, record):
        record.msg = record.msg.replace("secret", "...")
        return "never" not in record.msg

log.addFilter(Redact())
log.addHandler(logging.StreamHandler(sys.stdout))
quiet = logging.getLogger("quiet")
quiet.setLevel(logging.ERROR)

def run(world):
    log.warning("a secret")
    log.warning("never")
    quiet.warning("too little")
"""
    (seen,) = doors(body)

    assert first(seen) == [("log", "WARNING", "a ...")]


def test_a_warning_is_its_category_and_text_each_time(doors) -> None:
    body = """
class Mine(UserWarning):
    pass

def run(world):
    for _ in range(2):
        warnings.warn("look", Mine)
    warnings.warn("old", DeprecationWarning)
"""
    (seen,) = doors(body)

    assert first(seen) == [("warning", "Mine", "look")] * 2


def test_lines_are_put_down_whole(doors) -> None:
    body = """
def run(world):
    print("a", end=" ")
    print("b\\nc")
    print("not ended", end="", file=sys.stderr)
"""
    (seen,) = doors(body)

    assert first(seen) == [("print", "stdout", "a b"), ("print", "stdout", "c")]
    assert seen[-1] == (2, "print", "stderr", "not endednot ended")


def test_what_nobody_would_read_is_put_down_by_its_digest(doors) -> None:
    body = """
def run(world):
    print("é" * 50_000 + world.instruction)
    print("x\\n" * 30_000 + world.instruction)
"""
    worlds = [
        read_scenario({**ONCE.model_dump(), "agent": {"instruction": each}})
        for each in "aab"
    ]
    (seen,), (same,), (other,) = (doors(body, world=each) for each in worlds)
    long, *lines = (each[3] for each in seen)

    assert seen == same
    assert long.startswith("ééé")
    assert len(long) < 300
    assert "50001 characters" in long
    assert long != other[0][3]
    assert lines[0] == "x"
    assert len(lines) < 20_000
    assert "lines more, sha256" in lines[-1]
    assert lines[:-1] == [each[3] for each in other[1:-1]]
    assert lines[-1] != other[-1][3]


def test_what_is_said_at_import_is_no_session_s(doors) -> None:
    body = "print('x'); log.warning('x'); warnings.warn('x')\ndef run(world): pass"

    assert doors(body, sessions=2) == [[], []]


@pytest.mark.parametrize(("side_doors", "count"), [("own", 0), ("all", 3)])
def test_what_frameworks_say_counts_only_if_asked_for(doors, side_doors, count) -> None:
    body = "import framework\ndef run(world):\n    framework.speaks()"
    (seen,) = doors(body, side_doors=side_doors)

    assert len(first(seen)) == count


def test_own_code_that_a_framework_calls_is_own_code(doors) -> None:
    body = "import framework\ndef run(world):\n    framework.calls(lambda: print('x'))"
    (seen,) = doors(body)

    assert first(seen) == [("print", "stdout", "x")]


def test_a_file_is_what_stands_in_it_when_the_model_is_asked(doors) -> None:
    body = """
def run(world):
    for line in "ab":
        with open("audit.log", "a") as file:
            file.write(line)
    Path("state.json").write_text(json.dumps(len(Path("audit.log").read_text())))
    with tempfile.NamedTemporaryFile() as file, open("same", "w") as same:
        file.write(b"x")
"""
    seen = doors(body, sessions=2)

    assert (
        seen
        == [
            [
                (0, "file", "audit.log", "ab"),
                (0, "file", "state.json", "2"),
                (1, "file", "audit.log", "ab"),
                (1, "file", "state.json", "4"),
                (2, "file", "same", ""),
            ]
        ]
        * 2
    )


def test_what_stays_in_a_folder_with_a_drawn_name_is_put_down(doors) -> None:
    body = """
def run(world):
    for _ in range(2):
        made = Path(tempfile.mkdtemp(dir="."))
        (made / "report.txt").write_text("r")
    Path(tempfile.mkdtemp(), "scratch").write_text("s")
"""
    (seen,) = doors(body, world=ONCE)

    assert seen == [
        (0, "file", f"<temporary {number}>/report.txt", "r") for number in (1, 2)
    ]


def test_lines_of_concurrent_calls_have_no_order(doors) -> None:
    script = ["assistant:[c1:t({})][c2:t({})]", "assistant:a"]
    world = WORLD.model_copy(update={"model_script": tuple(script)})
    body = """
def run(world):
    with open("audit.log", "a") as file:
        file.write("c2\\nc1\\n")
"""
    (seen,) = doors(body, world=world)

    assert [each[3] for each in seen] == ["c2\nc1\n", "c1\nc2\n"]


def test_a_file_that_is_kept_open_is_seen_in_each_session(doors) -> None:
    body = """
FILE = open("audit.log", "w")
def run(world):
    FILE.write("x")
    if not log.handlers:
        log.addHandler(logging.FileHandler("mine.log"))
        log.propagate = False
    log.warning("y")
"""
    seen = doors(body, sessions=3)

    one = [("log", "WARNING", "y"), ("file", "audit.log", "x")]
    assert [first(each) for each in seen] == [[*one, ("file", "mine.log", "y\n")]] * 3


def test_a_file_that_is_removed_or_rewritten_is_told(doors, tmp_path) -> None:
    (tmp_path / "here.txt").write_text("here", "utf-8")
    (tmp_path / "gone.txt").write_text("gone", "utf-8")
    body = """
def run(world):
    Path("here.txt").write_text("anew")
    Path("gone.txt").unlink(missing_ok=True)
"""
    seen = doors(body, sessions=2)

    told = [("file", "gone.txt", True), ("file", "here.txt", "anew")]
    assert [first(each) for each in seen] == [told] * 2


def test_a_database_is_its_rows(doors) -> None:
    body = """
def run(world):
    with sqlite3.connect("audit.db") as database:
        database.execute("create table if not exists t (a)")
        database.execute("insert into t values (1)")
    database.close()
"""
    (seen,) = doors(body)

    assert [each[3].count('INSERT INTO "t" VALUES(1);') for each in seen] == [1, 2]


def test_names_of_the_moment_are_no_difference() -> None:
    now = datetime.now(tz=UTC)
    text = f"{now.isoformat()} {now.timestamp()} {object()} {now:%H:%M:%S}"

    assert steady(text) == "<date> <seconds> <object object at <address>> <clock>"
    assert (
        steady("2020-01-01T00:00:00Z 1000000001") == "2020-01-01T00:00:00Z 1000000001"
    )


@pytest.mark.parametrize(
    ("text", "steadied"),
    [
        ("took 0.003s", "took <duration>s"),
        ('{"latency_ms": 12.5, "n": 3}', '{"latency_ms": <duration>, "n": 3}'),
        ("answered in 0.01 seconds", "answered in <duration> seconds"),
        ("model call: 1.25 ms", "model call: <duration> ms"),
        ("elapsed=1.2e-05", "elapsed=<duration>"),
        ("wait 2.0s, then 500 ms", "wait 2.0s, then 500 ms"),
        ("costs 0.25 dollars", "costs 0.25 dollars"),
    ],
)
def test_what_was_measured_is_no_difference(text: str, steadied: str) -> None:
    assert steady(text) == steadied


def test_when_a_log_is_opened_is_no_effect(doors) -> None:
    early = """
def run(world):
    open("audit.log", "a").close()
"""
    late = "def run(world): pass"
    written = """
class Writes:
    name = "writes"
    def after_agent(self, ctx, state):
        Path("audit.log").write_text("x")
        return ctx
"""
    head = HEAD.replace("before_chat_model=tell)", "before_chat_model=tell), Writes()")
    seen = [doors(f"{each}{written}", head=head)[0] for each in (early, late)]

    assert seen == [[(2, "file", "audit.log", "x")]] * 2


# --- what is reached outside

ONCE = read_scenario(
    {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": ["user:a"]}]}
)


def test_a_program_that_is_started_is_an_effect(doors) -> None:
    [session] = doors(
        """
import subprocess
def run(world):
    subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
    os.system("true 7")
""",
        world=ONCE,
    )
    [(at, door, words), (_, _, line)] = session
    assert (at, door, words[1:]) == (0, "program", ["-S", "-c", "pass"])
    assert words[0].startswith("python")
    assert line == ["true 7"]


def test_what_a_package_starts_for_own_code_is_its_effect(doors) -> None:
    [session] = doors(
        """
import framework
def run(world):
    framework.calls(lambda: os.system("true"))
""",
        world=ONCE,
    )
    assert session == [(0, "program", ["true"])]


def test_what_an_import_starts_is_none(doors, tmp_path) -> None:
    (tmp_path / "site-packages" / "late.py").write_text("import os; os.system('true')")
    [session] = doors("def run(world):\n    import late\n", world=ONCE)

    assert session == []


@pytest.mark.parametrize(
    "writes",
    [
        "open(OUT, 'w').close()",
        "sqlite3.connect(OUT).close()",
        "os.symlink(os.path.dirname(OUT), 'way'); open('way/out', 'w').close()",
        "open(os.path.join('..', '..', '..', '..', OUT[1:]), 'w').close()",
    ],
    ids=["by name", "database", "through a link", "upwards"],
)
def test_a_file_outside_is_an_effect_in_each_session(doors, tmp_path, writes) -> None:
    out = str(tmp_path / "elsewhere" / "out")
    (tmp_path / "elsewhere").mkdir()
    body = f"OUT = {out!r}\ndef run(world):\n    {writes}\n"
    sessions = doors(body, 2, world=ONCE)

    found = [[each for each in one if each[1:3] == ("file", out)] for one in sessions]
    assert [len(each) for each in found] == [1, 1]


@pytest.mark.parametrize(
    ("makes", "holds"),
    [
        ("os.symlink('/dev/zero', 'made')", "link to /dev/zero"),
        ("os.mkfifo('made'); open('made', 'rb+')", "no file"),
        ("open('made', 'wb').truncate(1 << 30)", "1073741824 bytes"),
    ],
)
def test_what_has_no_end_is_not_read(doors, makes, holds) -> None:
    sessions = doors(f"def run(world):\n    {makes}\n", 2, world=ONCE)

    assert sessions == [[(0, "file", "made", holds)]] * 2


def test_what_no_own_code_does_is_no_deed_of_a_side() -> None:
    told: list[Mapping[str, object]] = []
    deeds = Deeds(SideDoors(), told.append).table

    deeds["os.killpg"]((0, signal.SIGKILL))
    deeds["os.exec"](())

    assert told == []
