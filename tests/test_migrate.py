"""``refengine migrate check`` on real files, each side in a process of its own."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from compat.cli.init import migration_files
from compat.cli.main import main
from compat.migration import corpus
from compat.migration.check import check, code_of
from compat.migration.corpus import fixed_worlds
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.migration.words import Words
from compat.report.migration import facts, lines
from compat.report.migration_json import FolderReport, PairReport
from compat.verdicts.migration import DescribedDivergence, Difference, Migration

EXAMPLES = Path(__file__).parent.parent / "examples" / "struct_to_handler"
FEW = ("--examples", "1", "--sharpness-plays", "0", "--search-plays", "0")
SHARE = 6
"""One fixed world of so many is played where no test says what the others show."""

HEAD = "from refengine import AgentMiddleware\n"
OLD = """
def subject(world):
    def before(ctx, state):
        world.effect("seen", len(state.messages))
    return [AgentMiddleware(additional_instruction="x", before_chat_model=before)]
"""
NEW = """
def subject(world):
    class Sees:
        name = "sees"
        def before_agent(self, ctx, config):
            config.instruction += "\\nx"
            return ctx
        def before_model_rewrite_history(self, ctx, messages):
            BODY
            return ctx, messages
    return [Sees()]
"""
TELLS = 'world.effect("seen", len(messages))'


class Checked:
    """How a command ended, and what it said."""

    def __init__(self, code: object, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


def share(words: Words) -> list[tuple[str, object]]:
    return [*fixed_worlds(words)][::SHARE]


def reproduced() -> subprocess.CompletedProcess[str]:
    """Run the reproducer that a check has written."""
    script = [sys.executable, "rep/reproduce.py"]
    return subprocess.run(script, capture_output=True, text=True, check=False)


@pytest.fixture
def command(capfd, monkeypatch, tmp_path):
    """Run ``refengine migrate check`` in an empty folder that holds old.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.py").write_text(HEAD + OLD, "utf-8")

    def run(*arguments: object, few: bool = True) -> Checked:
        given = ["check", *map(str, arguments), *(FEW if few else ())]
        monkeypatch.setattr(corpus, "fixed_worlds", share if few else fixed_worlds)
        with pytest.raises(SystemExit) as raised:
            main(["migrate", *given])
        captured = capfd.readouterr()
        return Checked(raised.value.code, captured.out, captured.err)

    return run


def new(body: str, head: str = HEAD) -> str:
    """Write new.py with that in its model hook; return its name."""
    Path("new.py").write_text(head + NEW.replace("BODY", body), "utf-8")
    return "new.py"


def test_port_that_does_the_same_holds(command) -> None:
    done = command("old.py", new(TELLS))
    more = command("old.py", new(TELLS), "--verbose")

    assert done.code == 0
    assert done.out.startswith("HOLDS WEAKLY  identical: no small change of either")
    assert ": entered" not in done.out
    assert "middlewares[0].before_chat_model: entered" in more.out
    assert done.err == ""


def test_port_that_does_not_is_told_with_both_values_and_the_world(command) -> None:
    done = command("old.py", new(TELLS.replace("len(", "1 + len(")))

    assert done.code == 1
    assert done.out.startswith("DIVERGES  same-state holds, same-effects is required\n")
    assert "\n\nEFFECT_CHANGED  NEW does `seen` with 3, and OLD with 2.\n" in done.out
    assert "  where  run 1, effect 1  (effects [0].data)\n" in done.out
    assert "  old    2\n  new    3\n" in done.out
    assert (
        'The smallest world found that shows it:\n    model = ["Done."]\n'
        '    agent.run("Hello")\n'
    ) in done.out


def test_line_that_ran_last_before_a_divergence_is_shown_on_both_sides(command) -> None:
    port = new(TELLS.replace("len(", "1 + len("))
    done = command("old.py", port)

    for side, file in (("old", "old.py"), ("new", port)):
        lines = Path(file).read_text("utf-8").splitlines()
        [at] = [n for n, line in enumerate(lines, 1) if "world.effect(" in line]
        assert f"  line   {side}: {file}:{at}, in before" in done.out


def test_what_builds_the_agent_is_not_blamed_for_what_differs_in_a_run(command) -> None:
    for name, limit in (("config.py", 2), ("other.py", 1)):
        text = f"limit = {limit}\n    return world.config(max_iterations=limit)\n"
        Path(name).write_text(f"def subject(world):\n    {text}", "utf-8")
    done = command("config.py", "other.py")

    assert done.code == 1
    assert "  where  run 1" in done.out
    assert "last before it" not in done.out


def test_line_that_is_the_same_on_both_sides_is_told_once() -> None:
    seen = Difference("requests", "[0]", 1, 2)
    found = DescribedDivergence("SETTINGS", "error", "", seen, "run 1")
    same = replace(found, places=(("old", "a.py:1, in f"), ("new", "a.py:1, in f")))
    apart = replace(found, places=(("old", "a.py:1, in f"), ("new", "b.py:1, in f")))

    def told(each: DescribedDivergence) -> list[str]:
        return [
            text
            for name, text in facts(each, Migration("same-effects", 1, ""))
            if name == "line"
        ]

    assert told(same) == ["both: a.py:1, in f, last before it"]
    assert [each[:9] for each in told(apart)] == ["old: a.py", "new: b.py"]


def test_files_for_a_ci_say_what_the_screen_says(command) -> None:
    paths = ("--markdown", "report.md", "--junit", "report.xml", "--html", "a.html")
    done = command("old.py", new(TELLS.replace("len(", "1 + len(")), *paths)
    root = ET.parse("report.xml").getroot()  # noqa: S314  # what we wrote
    [failure] = root.iter("failure")
    page = Path("report.md").read_text("utf-8")

    assert done.code == 1
    assert root.attrib | {"tests": "1", "failures": "1", "errors": "0"} == root.attrib
    assert failure.get("message") == "NEW does `seen` with 3, and OLD with 2."
    assert failure.get("type") == "EFFECT_CHANGED"
    assert "NEW does \\`seen\\` with 3, and OLD with 2." in page
    assert '```python\nmodel = ["Done."]\nagent.run("Hello")\n```' in page
    assert "NEW does `seen` with 3, and OLD" in Path("a.html").read_text("utf-8")


def test_line_of_new_is_annotated_where_github_reads(command, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    port = new(TELLS.replace("len(", "1 + len("))

    told = command("old.py", port).out.splitlines()[-1]

    assert told.startswith(f"::error file={port},line=")
    assert told.endswith(": NEW does `seen` with 3, and OLD with 2.")
    assert not command("old.py", new(TELLS)).out.count("::error")


def test_files_for_a_ci_say_that_it_holds(command) -> None:
    paths = ("--markdown", "report.md", "--junit", "report.xml")
    done = command("old.py", new(TELLS), *paths)
    root = ET.parse("report.xml").getroot()  # noqa: S314  # what we wrote

    assert done.code == 0
    assert root.get("failures") == "0"
    assert [*root.iter("failure")] == []
    assert "1 case, 1 met" in Path("report.md").read_text("utf-8")


def test_two_files_at_one_path_are_refused_before_the_work(command) -> None:
    done = command("old.py", "no_such.py", "--json", "a", "--junit", "a")

    assert done.code == 2
    assert "--json and --junit are both to be written to a" in done.err


def test_verdict_is_printed_before_files_are_written(command) -> None:
    done = command("old.py", new("pass"), "--json", "/dev/full")

    assert done.code == 2
    assert done.out.startswith("DIVERGES")
    assert "/dev/full: No space left on device" in done.err


@pytest.mark.usefixtures("command")
@pytest.mark.parametrize(
    ("body", "phase", "worlds", "shown"),
    [("pass", "shrinking", 3, "EFFECT_LOST"), (TELLS, "searching", 0, None)],
)
def test_what_was_found_before_an_interrupt_is_kept(
    body: str, phase: str, worlds: int, shown: str | None
) -> None:
    def interrupt(now: str, done: int, most: int) -> None:
        if now == phase and done >= worlds:
            raise KeyboardInterrupt

    refs = parse_ref("old.py"), parse_ref(new(body))
    how = CheckOptions(examples=1, search_plays=50, progress=interrupt)
    verdict = check(*refs, Terms(), how).verdict
    found = verdict.divergence

    assert (found and found.code) == shown
    assert verdict.interrupted
    assert code_of(verdict) == 130
    assert "INTERRUPTED  it would" in "\n".join(map(str, lines(verdict)))


BACKWARDS = "?77-A si erehW"
"""A message that only the user's own chat holds; its words are not in any source."""


def test_a_chat_in_which_old_breaks_is_told_to_be_left_out(command) -> None:
    breaks = f"messages and messages[-1].content == {BACKWARDS!r} and messages[99]"
    port = new(TELLS)
    old = TELLS.replace("len(", f"bool({breaks}) + len(")
    Path("breaks.py").write_text(Path(new(old)).read_text("utf-8"), "utf-8")
    port = new(TELLS)
    chat = [{"role": "user", "content": BACKWARDS}]
    Path("chats.jsonl").write_text(json.dumps({"messages": chat}), "utf-8")

    done = command(
        "breaks.py", port, "--worlds", "chats.jsonl", "--json", "report.json"
    )
    header = json.loads(Path("report.json").read_text("utf-8"))["header"]

    assert " of both left out\n" in done.out
    assert header["given"][0]["left_out"] >= 1


def test_port_that_is_wrong_in_the_users_own_chat_only_is_found_there(command) -> None:
    wrong = f"messages and messages[-1].content[::-1] == {BACKWARDS!r}"
    port = new(TELLS.replace("len(", f"({wrong}) + len("))
    chat = [{"role": "user", "content": BACKWARDS[::-1]}]
    Path("chats.jsonl").write_text(json.dumps({"messages": chat}), "utf-8")

    without = command("old.py", port)
    done = command("old.py", port, "--worlds", "chats.jsonl", "--json", "report.json")
    header = json.loads(Path("report.json").read_text("utf-8"))["header"]

    assert without.code == 0
    assert done.code == 1
    assert "\n  chats.jsonl: 1 as they are, 2 made from them\n" in done.out
    assert header["given"] == [{"file": "chats.jsonl", "played": 1, "made": 2}]


def test_calls_of_the_users_own_chat_keep_the_names_he_knows_them_by(command) -> None:
    said = f"any(each.content[::-1] == {BACKWARDS!r} for each in messages)"
    wrong = f"{said} and any(each.tool_calls for each in messages)"
    port = new(TELLS.replace("len(", f"({wrong}) + len("))
    call = {"id": "call_7f", "function": {"name": "book_flight", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": BACKWARDS[::-1]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_7f", "content": "booked"},
        {"role": "assistant", "content": "Done."},
    ]
    Path("chats.jsonl").write_text(json.dumps({"messages": chat}), "utf-8")

    done = command("old.py", port, "--worlds", "chats.jsonl")

    assert done.code == 1
    assert 'call("book_flight", id="call_7f")' in done.out


def test_own_worlds_may_stand_in_the_settings(command) -> None:
    chat = [{"role": "user", "content": "hi"}]
    Path("chats.jsonl").write_text(json.dumps({"messages": chat}), "utf-8")
    Path("tools.json").write_text('[{"name": "pay"}]', "utf-8")
    Path("migration.toml").write_text(
        'worlds = ["chats.jsonl"]\ntools = ["tools.json"]\n[samples]\nids = ["A-7"]\n',
        "utf-8",
    )

    done = command("old.py", new(TELLS), "--settings", "migration.toml")

    assert done.code == 0
    assert "\n  chats.jsonl: 1 as they are, " in done.out
    assert "\n  tools.json: in " in done.out
    assert "\n  samples: in " in done.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "refengine migrate check: mine.jsonl: No such file or directory\n"),
        ("", "refengine migrate check: mine.jsonl:\n  the file is empty; write a"),
        ("{}\nno", "refengine migrate check: mine.jsonl:\n  line 1: has no key; write"),
    ],
)
def test_own_worlds_that_are_none_are_a_mistake(
    command, text: str | None, told: str
) -> None:
    if text is not None:
        Path("mine.jsonl").write_text(text, "utf-8")

    done = command("old.py", new(TELLS), "--worlds", "mine.jsonl")

    assert done.code == 2
    assert done.err.startswith(told)


@pytest.mark.parametrize(
    ("option", "path", "told"),
    [
        ("--json", ".", "'.' is a directory: name a file in it."),
        ("--json", "no/r.json", "the folder of 'no/r.json' does not exist: make it"),
        ("--json", "old.py/r.json", "is a file, not a folder to write to."),
        ("--reproducer", "old.py", "'old.py' is a file, not a folder to write to."),
        ("--reproducer", "old.py/a/b", "is a file, not a folder to write to."),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    command, option: str, path: str, told: str
) -> None:
    done = command("old.py", "no_such.py", option, path)

    assert done.code == 2
    assert told in done.err
    assert "no_such" not in done.err


def test_report_file_has_the_same_for_machines(command) -> None:
    done = command("old.py", new("pass"), "--json", "report.json")
    report = json.loads(Path("report.json").read_text("utf-8"))

    assert done.code == report["exit"] == 1
    assert PairReport.model_validate(report).header.old == "old.py"
    assert report["holds"] == "same-state"
    assert report["divergence"]["code"] == "EFFECT_LOST"
    assert report["world"]["runs"] == [{"input": ["user:Hello"]}]
    assert report["header"]["seed"] == 0
    assert set(report["exercise"]) == {"old", "new"}


def test_same_check_gives_the_same_report(command) -> None:
    reports = []
    for _ in range(2):
        command("old.py", new("pass"), "--json", "report.json")
        reports.append(json.loads(Path("report.json").read_text("utf-8")))

    assert reports[0] == reports[1]
    assert reports[0]["hash"]


def test_reproducer_runs_alone(command, tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("LINE = 'x'\n", "utf-8")
    old = HEAD + "from words import LINE\n" + OLD.replace('"x"', "LINE")
    (tmp_path / "old.py").write_text(old, "utf-8")
    done = command("old.py", new("pass"), "--reproducer", "rep")
    away = tmp_path.with_name(f"{tmp_path.name}-away")
    shutil.move("rep", away)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()

    script = [sys.executable, str(away / "reproduce.py")]
    shown = subprocess.run(
        script, cwd=away, capture_output=True, text=True, check=False
    )

    assert done.code == 1
    assert "python rep/reproduce.py" in done.out
    assert shown.returncode == 1, shown.stderr
    assert '"name": "seen"' in shown.stdout
    assert shown.stdout.endswith("the sides differ\n")
    (away / "new" / "new.py").write_bytes((away / "old" / "old.py").read_bytes())
    (away / "new" / "words.py").write_text("LINE = 'x'\n", "utf-8")
    assert subprocess.run(script, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", ["side.go", "side.ts"])
def test_reproducer_is_refused_where_a_script_could_not_import_a_side(
    command, tmp_path: Path, name: str
) -> None:
    """A script was written that could not run."""
    (tmp_path / name).write_text("package side", "utf-8")

    done = command(name, name, "--reproducer", "rep")

    assert done.code == 2
    assert "both sides, so they have to be in Python" in " ".join(done.err.split())
    assert not (tmp_path / "rep").exists()


def test_reproducer_does_not_mix_with_other_files(command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x", "utf-8")

    done = command("old.py", new("pass"), "--reproducer", "mine")

    assert done.code == 2
    assert "mine is not empty" in done.err
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_old_may_be_of_an_earlier_commit(command, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for step in (["init", "-q"], ["add", "old.py"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *step], cwd=tmp_path, check=True)
    (tmp_path / "old.py").write_text("raise RuntimeError('not this one')\n", "utf-8")

    done = command("--old-commit", "HEAD:old.py", new(TELLS))

    assert done.code == 0, done.out + done.err
    assert "old  HEAD:old.py" in done.out


def test_subject_that_differs_from_itself_is_not_comparable(command) -> None:
    done = command("old.py", new(TELLS), few=True)
    assert done.code == 0
    Path("old.py").write_text(
        HEAD + "import time\n" + OLD.replace("len(state.messages)", "time.time_ns()"),
        "utf-8",
    )

    done = command("old.py", new(TELLS))

    assert done.code == 6
    assert done.out.startswith("NOT COMPARABLE  a side differs from itself\n")
    assert "old differs from itself in effects [*].data" in done.out


def test_order_of_a_set_is_found_to_be_no_order(command) -> None:
    Path("old.py").write_text(
        HEAD + OLD.replace("len(state.messages)", 'list({"a", "b", "c", "d", "e"})'),
        "utf-8",
    )

    assert command("old.py", "old.py").code == 6


NEVER = """
        def bind_tool(self, info, endpoint, kind):
            async def call(ctx, input):
                return await endpoint(ctx, input)
            return call if info.name == "no such" + " tool" else endpoint
    return [Sees()]
"""


def test_hook_that_no_world_enters_is_not_exercised(command) -> None:
    text = NEW.replace("BODY", TELLS).replace("\n    return [Sees()]\n", NEVER)
    Path("new.py").write_text(HEAD + text, "utf-8")

    done = command("old.py", "new.py")

    assert done.code == 4
    assert done.out.startswith(
        "NOT EXERCISED  identical holds where it ran, same-effects is required\n"
    )
    assert "handlers[0] sees.bind_tool: NEVER ENTERED" in done.out


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ("import threading; threading.Event().wait()", 3, "within 3 s"),
        ("import os; os._exit(3)", 3, "ended with exit status 3"),
        ("raise SystemExit", 3, "a subject must not end the process"),
        ("import os; os.fork()", 3, "it forks"),
        ("world.effect('x', object())", 2, "world.effect('x', ...): object cannot"),
    ],
)
def test_subject_that_cannot_be_played_is_told(command, body, code, told) -> None:
    done = command("old.py", new(body), *(["--timeout", "3"] if "wait" in body else []))

    assert done.code == code
    assert done.out.startswith("CANNOT BE JUDGED  new (new.py)")
    assert told in done.out
    assert "Traceback" not in done.out + done.err


MISSPELT = """
class A:
    name = "a"
    def befor_agent(self, ctx, config):
        return ctx
def subject(world):
    return [A()]
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def subject(:", "new.py"),
        ("subjekt = 1", "subject"),
        ("def subject(world): return 7", "returned 7"),
        ("def subject(world): return []", "there is nothing in it to look at"),
        (MISSPELT, "before_agent"),
    ],
)
def test_mistake_in_a_subject_is_told_as_usage(command, text, told) -> None:
    Path("new.py").write_text(text + "\n", "utf-8")

    done = command("old.py", "new.py")

    assert done.code == 2
    assert told in done.out
    assert "Traceback" not in done.out + done.err


def test_a_new_side_that_cannot_be_built_diverges(command) -> None:
    Path("new.py").write_text("def subject(world): 1 / 0\n", "utf-8")

    done = command("old.py", "new.py")

    assert done.code == 1
    assert done.out.startswith("DIVERGES")
    assert "ZeroDivisionError" in done.out
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["old.py"], "give OLD and NEW; 1 given: old.py; for one file in two versions"),
        (["old.py", "nwe.py"], "there is no file nwe.py; did you mean new.py?"),
        (
            ["old.py", "new.py", "--require", "same-efects"],
            "did you mean 'same-effects'",
        ),
        (["old.py", "new.py", "--engine-profile", "seed-01"], "seed-001"),
        (["old.py", "new.py", "--settings", "no.toml"], "no.toml: No such file"),
        (["old.py", "HEAD:new.py:subject"], "only OLD may have a revision"),
        (["--all", ".", "old.py"], "--all takes all else from each migration.toml"),
        (["a.py", "b.py", "--reports"], "--reports goes with --all"),
        (["old.py", "new.py", "--env", "A=B"], "is that of the environment, so write"),
        (["--all", "nowhere"], "no such folder; refengine init migration writes one"),
        (["--all", "old.py"], "old.py: this is a file: give a folder of folders"),
        (["old.py", "new.py", "--settings", "."], ".: this is a folder: name a file"),
        (["old.py", "new.py", "--min-sharpness", "200"], "200"),
    ],
)
def test_mistake_on_the_command_line_is_told(command, arguments, told) -> None:
    new(TELLS)

    done = command(*arguments)

    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err


def test_missing_side_of_a_folder_names_the_file_that_says_it(command) -> None:
    piece = Path("pieces/one")
    piece.mkdir(parents=True)
    (piece / "migration.toml").write_text(
        "old = 'old.py'\n[cases.'gone.py']\nholds = 'identical'\n", "utf-8"
    )

    done = command("--all", "pieces")

    assert done.code == 2
    assert "pieces/one/migration.toml: 'gone.py': there is no file gone.py" in done.err
    assert "give its path from the folder of the file that names it" in done.err


def test_programs_without_their_extra_say_which_one() -> None:
    code = (
        "import sys\nsys.modules['starlette'] = None\n"
        "from refengine.__main__ import main\n"
        "sys.exit(main(['migrate', 'check', '--old-cmd', 'a', '--new-cmd', 'b']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "starlette is not installed: pip install 'backports-zstd>=" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_example_is_a_usage_error(command) -> None:
    assert command("old.py", new(TELLS), "--examples", 0, few=False).code == 2


def test_what_a_subject_prints_is_an_effect(command) -> None:
    loud = new(f"print('hello', object()); {TELLS}")
    done = command("old.py", loud, "--reproducer", "rep")
    again = reproduced()

    assert done.code == 1
    assert "EFFECT_EXTRA" in done.out
    assert "printed: hello <object object at <address>>\n" in done.out
    assert (again.returncode, again.stderr) == (1, "")
    assert '"text": "hello <object object at <address>>"' in again.stdout


def test_what_is_printed_at_import_is_noted_and_not_compared(command) -> None:
    Path("loud.py").write_text("print('hello')\n" + HEAD + OLD, "utf-8")

    assert command("old.py", "loud.py").code == 0


def test_intended_effect_is_checked_on_both_sides(command) -> None:
    intends = (
        "from refengine.testing import intends\n"
        "@intends('no run sees more than one message')\n"
        "def few(trace):\n"
        "    return all(e.data['data'] < 2 for e in trace if e.kind == 'effect'\n"
        "               and e.data['name'] == 'seen')\n"
    )
    Path("old.py").write_text(HEAD + intends + OLD, "utf-8")

    done = command("old.py", new(TELLS))

    assert done.code == 1
    assert "INTENT  old lacks: no run sees more than one message" in done.out
    assert "INTENT  new lacks: no run sees more than one message" in done.out


SETTINGS = """
[cases."new.py"]
[[cases."new.py".allow]]
channel = "effects"
path = "[*].data"
reason = "it counts from one"
world = "world.json"
"""


def test_allowed_difference_holds_and_an_unused_one_is_stale(command) -> None:
    one_more = new(TELLS.replace("len(", "1 + len("))
    Path("world.json").write_text('{"agent": {}, "runs": [{}]}', "utf-8")
    Path("migration.toml").write_text(SETTINGS, "utf-8")

    used = command("old.py", one_more, "--settings", "migration.toml")
    unused = command("old.py", new(TELLS), "--settings", "migration.toml")

    assert used.code == 0, used.out
    assert "allowed in effects [*].data (it counts from one): used" in used.out
    assert unused.code == 5
    assert "UNUSED" in unused.out


def test_folder_of_the_user_named_compat_does_not_matter(
    command, tmp_path: Path
) -> None:
    for name in ("compat", "property_tests", "benchmarks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("VALUE = 1\n", "utf-8")
    text = "from compat import VALUE\nassert VALUE == 1\n" + HEAD + OLD
    (tmp_path / "old.py").write_text(text, "utf-8")
    new(TELLS)

    check = ["-m", "refengine", "migrate", "check", "old.py", "new.py", *FEW]
    done = subprocess.run(
        [sys.executable, *check], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_folder_is_judged_as_it_declares(command, tmp_path: Path) -> None:
    piece = tmp_path / "pieces" / "sees"
    piece.mkdir(parents=True)
    (piece / "old.py").write_text(HEAD + OLD, "utf-8")
    for name, body in (
        ("right.py", TELLS),
        ("wrong_a.py", "pass"),
        ("wrong_b.py", "pass"),
    ):
        (piece / name).write_text(HEAD + NEW.replace("BODY", body), "utf-8")
    cases = {
        "right.py": 'holds = "same-effects"',
        "wrong_a.py": 'diverges = "EFFECT_LOST"',
    }
    text = "".join(f'[cases."{name}"]\n{line}\n' for name, line in cases.items())
    (piece / "migration.toml").write_text(
        text + '[cases."wrong_b.py"]\ndiverges = "ORDER"'
    )

    done = command("--all", "pieces", "--json", "all.json")
    counts = json.loads(Path("all.json").read_text("utf-8"))

    assert done.code == 1
    assert (counts["cases"], counts["met"]) == (3, 2)
    assert FolderReport.model_validate_json(Path("all.json").read_text("utf-8"))
    assert "weakly  sees/right.py  identical\n" in done.out
    assert "NOT MET sees/wrong_b.py  EFFECT_LOST, expected ORDER\n" in done.out
    assert "sees/wrong_b.py, expected ORDER:\nDIVERGES" in done.out


def test_skeleton_can_be_checked_at_once(command, capfd) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["init", "migration", "mine"])

    assert raised.value.code in {0, None}
    assert sorted(each.name for each in Path("mine").iterdir()) == sorted(
        migration_files()
    )
    assert command("--all", "mine").code == 0
    with pytest.raises(SystemExit) as raised:
        main(["init", "migration", "mine"])
    assert raised.value.code == 2
    assert "old.py is already there" in capfd.readouterr().err


MISTAKES = """
from pathlib import Path

HERE = Path(__file__).parent

def test_told(assert_migrates):
    assert_migrates(HERE / "old.py", HERE / "none.py")
"""


def test_a_mistake_in_a_test_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(HEAD + OLD, "utf-8")
    (tmp_path / "test_mistake.py").write_text(MISTAKES, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    told = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    assert len(told) == 1
    assert "there is no file" in told[0]
    assert "refs.py" not in done.stdout


def test_fixture_asserts_what_the_command_answers(tmp_path: Path) -> None:
    for name, text in migration_files().items():
        few = text.replace('"new.py")', '"new.py", examples=1)')
        (tmp_path / name).write_text(few, "utf-8")
    wrong = migration_files()["new.py"].replace("-LIMIT:", "1 - LIMIT :")
    (tmp_path / "wrong.py").write_text(wrong, "utf-8")
    (tmp_path / "test_wrong.py").write_text(
        "def test_wrong(assert_migrates):\n"
        "    assert_migrates('old.py', 'wrong.py', examples=1)\n",
        "utf-8",
    )

    plugins = ("-pno:cacheprovider", "-pno:hypothesispytest", "-pno:langsmith_plugin")
    pytest_ = [sys.executable, "-m", "pytest", "-q", *plugins]
    done = subprocess.run(
        pytest_, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "the migration is not accepted" in done.stdout
    assert "DIVERGES" in done.stdout


def test_plugin_loads_nothing_before_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys, pytest;"
        "pytest.main(['--collect-only', '-q', '-pno:langsmith_plugin']);"
        "print(sorted(m for m in sys.modules if m.startswith(('refengine', 'compat'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "['refengine', 'refengine._pytest_plugin']"


def test_a_right_and_a_wrong_example_are_told_apart(command) -> None:
    piece = EXAMPLES / "trim_history"

    assert command(piece / "old.py", piece / "right.py").code == 0
    assert command(piece / "old.py", piece / "wrong_off_by_one.py").code == 1


def test_module_of_a_package_without_init_gives_its_words(command, tmp_path) -> None:
    (tmp_path / "mypkg").mkdir()
    audit = """
def subject(world):
    async def audit(ctx, input, next):
        if input.name in {"delete_all"EXTRA}:
            world.effect("audited", input.name)
        return await next(ctx, input)
    from refengine import with_invokable_tool_wrapper
    return [with_invokable_tool_wrapper(audit)]
"""
    for name, extra in (("old", ', "drop_table"'), ("new", "")):
        text = audit.replace("EXTRA", extra)
        (tmp_path / "mypkg" / f"{name}.py").write_text(text, "utf-8")

    done = command("mypkg.old:subject", "mypkg.new:subject")

    assert done.code == 1
    assert "EFFECT_LOST" in done.out


def test_reproducer_of_a_package_imports_as_the_check_did(command, tmp_path) -> None:
    package = tmp_path / "acme" / "mw"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("", "utf-8")
    (package / "line.py").write_text("LINE = 'x'\n", "utf-8")
    relative = "from .line import LINE\n" + HEAD + OLD.replace('"x"', "LINE")
    (package / "old.py").write_text(relative, "utf-8")
    changed = relative.replace("len(", "1.0 * len(")
    (package / "new.py").write_text(changed, "utf-8")

    done = command("acme.mw.old:subject", "acme.mw.new:subject", "--reproducer", "rep")
    shown = reproduced()

    assert done.code == 1
    assert "TYPE" in done.out  # 1 and 1.0 are equal to Python
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert shown.stdout.endswith("the sides differ\n")


ASKS = """
def subject(world):
    def before(ctx, state):
        if not is_reentry():
            world.effect("seen", len(state.messages))
        if len(state.messages) == 2:
            interrupt("go on?")
    return [AgentMiddleware(additional_instruction="x", before_chat_model=before)]
"""


def test_reproducer_of_a_side_that_asks_answers_it(command) -> None:
    head = "from refengine import AgentMiddleware, interrupt, is_reentry\n"
    Path("old.py").write_text(head + ASKS, "utf-8")
    asks = f"{TELLS}; len(messages) == 2 and interrupt('go on?')"
    given = ("old.py", new(asks, head), "--reproducer", "rep", *FEW)
    done = command(*given, few=False)
    shown = reproduced()

    assert done.code == 1
    assert "EFFECT_EXTRA" in done.out
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert shown.stdout.endswith("the sides differ\n")


def test_reproducer_of_a_side_that_fails_says_so(command) -> None:
    command("old.py", new("pass"), "--reproducer", "rep")
    Path("rep/new/new.py").write_text("1 / 0\n", "utf-8")
    shown = reproduced()

    assert shown.returncode == 3
    assert "new cannot be played" in shown.stdout
    assert "ZeroDivisionError" in shown.stdout


def test_settings_without_a_case_for_new_are_refused(command) -> None:
    Path("migration.toml").write_text('[cases."other.py"]\n', "utf-8")
    Path("other.py").write_text("", "utf-8")

    done = command("old.py", new(TELLS), "--settings", "migration.toml")

    assert done.code == 2
    assert "no case is new.py; there are other.py" in done.err


def test_what_is_printed_is_no_part_of_what_the_hash_covers(command) -> None:
    hashes = []
    for _ in range(2):
        name = new(f"import time; print(time.time()); {TELLS}")
        command("old.py", name, "--json", "report.json")
        report = json.loads(Path("report.json").read_text("utf-8"))
        hashes.append(report["hash"])
        assert report["header"]["printed"]["new"]

    assert hashes[0] == hashes[1]


def test_case_may_declare_that_an_intended_effect_is_missing(command, tmp_path) -> None:
    piece = tmp_path / "pieces" / "sees"
    piece.mkdir(parents=True)
    intends = (
        "from refengine.testing import intends\n"
        "@intends('it tells nothing')\n"
        "def quiet(trace):\n"
        "    return not any(each.kind == 'effect' for each in trace)\n"
    )
    (piece / "old.py").write_text(HEAD + intends + OLD, "utf-8")
    (piece / "right.py").write_text(HEAD + NEW.replace("BODY", TELLS), "utf-8")
    (piece / "migration.toml").write_text("[cases.'right.py']\ndiverges = 'INTENT'\n")

    assert command("--all", "pieces").code == 0
