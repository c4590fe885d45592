"""Verdicts over time: kept in one file, compared, and halved down to the first bad."""

import itertools
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.cli.main import main
from compat.report.timeline import timeline_page
from compat.timeline.bisecting import Bisection, NothingToFindError
from compat.timeline.reports import read_report
from compat.timeline.store import Timeline
from compat.verdicts.timeline import (
    TimelineError,
    TimelineItem,
    VersionHistory,
    VersionJudged,
    changes,
    in_order,
)
from tests.few_worlds import judging_in
from tests.pages import shell

PAIRS = re.compile(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
GOOD = {"pass": True, "fail": False, "blocked": None}


def judged(version: str, subject: str = "eino", **verdicts: str) -> VersionJudged:
    items = {
        name: TimelineItem(name, said, GOOD[said]) for name, said in verdicts.items()
    }
    digest = json.dumps(verdicts)
    return VersionJudged(subject, version, items, digest, "refengine 1")


def report(version: str, engine: str = "eino", **verdicts: str) -> dict[str, Any]:
    """Return what is read of a judgement's report."""
    results = [
        {"clause": name, "verdict": said, "known": ""}
        for name, said in verdicts.items()
    ]
    return {
        "header": {"tool": "refengine 1", "versions": {engine: version}},
        "digest": f"{version}{verdicts}",
        "engines": [{"engine": engine, "results": results}],
    }


def written(path: Path, tree: object) -> Path:
    path.write_text(json.dumps(tree), "utf-8")
    return path


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["timeline", *map(str, words)])
    code = ended.value.code
    assert isinstance(code, int | None)
    out, err = capsys.readouterr()
    return code or 0, out, err


# Reports


def test_a_judgement_says_of_each_engine_what_was_judged(tmp_path: Path) -> None:
    tree = report("0.9.13", "eino@0.9.13", ORD="pass", INT="fail", SUR="blocked")
    tree["engines"][0]["results"][1]["known"] = "known.toml"

    [found] = read_report(written(tmp_path / "a.json", tree))

    assert (found.subject, found.version) == ("eino", "0.9.13")
    assert {name: each.good for name, each in found.items.items()} == {
        "ORD": True,
        "INT": False,
        "SUR": None,
    }
    assert found.items["INT"].verdict == "fail, known"
    assert found.bad == ("INT",)


def test_what_the_commands_write_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = Path(__file__).parent.parent / "examples" / "first_run"
    monkeypatch.chdir(tmp_path)
    few = ["--examples", "1", "--search-plays", "0", "--sharpness-plays", "0"]
    old, new = pack / "old.py", pack / "wrong_twice.py"
    for file, *words in (
        ["engine.json", "conform", "reference", *few[:2], "--clause", "ORD-001"],
        ["pair.json", "migrate", "check", old, new, *few],
        ["folder.json", "migrate", "check", "--all", pack, *few],
    ):
        with judging_in("ORD"), pytest.raises(SystemExit):
            main([*map(str, words), "--json", str(file)])
    capsys.readouterr()
    paths = sorted(tmp_path.glob("*.json"))

    found = [each for path in paths for each in read_report(path, "1.0", "mine")]

    items = [list(each.items.values()) for each in found]
    assert [TimelineItem("ORD-001", "pass", good=True)] in items
    assert [TimelineItem("migration", "INSTRUCTION", good=False)] in items
    folder = [
        TimelineItem("first_run/right.py", "identical", good=True),
        TimelineItem("first_run/wrong_twice.py", "INSTRUCTION", good=True),
    ]
    assert folder in items


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ([], "it is not a report; refengine conform ENGINE --json FILE and"),
        ({"a": 1}, "it is not a report"),
        ({"engines": 3}, "header is none of one"),
        (report("", "mine", ORD="pass"), "says no version: give one with --version"),
        (report("1.0"), "nothing was judged in it"),
    ],
)
def test_what_is_no_report_is_told(tmp_path: Path, tree: object, told: str) -> None:
    with pytest.raises(TimelineError, match=told):
        read_report(written(tmp_path / "a.json", tree))


# The file


def test_what_was_added_is_there(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "v.db")
    one, two = judged("1.0", ORD="pass", INT="fail"), judged("1.1", ORD="blocked")

    assert timeline.add(one)
    assert timeline.add(two)
    assert not timeline.add(one)

    found = Timeline(tmp_path / "v.db").history()
    assert found == VersionHistory("eino", (one, two))


def test_a_version_judged_again_is_replaced_in_its_place(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "v.db")
    for each in (judged("b", ORD="pass"), judged("a", ORD="pass")):
        timeline.add(each)

    assert timeline.add(judged("b", INT="fail"))

    assert timeline.history().versions[0] == judged("b", INT="fail")


def test_versions_of_numbers_are_in_their_order(tmp_path: Path) -> None:
    assert in_order(["0.10.0", "0.9.13", "v0.9", "1"]) == [
        "v0.9",
        "0.9.13",
        "0.10.0",
        "1",
    ]
    assert in_order(["2.0", "main", "1.0"]) == ["2.0", "main", "1.0"]


def test_many_may_write_at_once(tmp_path: Path) -> None:
    versions = [f"1.{number}" for number in range(24)]

    def add(version: str) -> bool:
        return Timeline(tmp_path / "v.db").add(judged(version, ORD="pass", INT="fail"))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(add, versions))

    found = Timeline(tmp_path / "v.db").history().versions
    assert [each.version for each in found] == versions
    assert all(len(each.items) == 2 for each in found)


def test_nothing_is_left_of_an_add_that_fails(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "v.db")
    timeline.add(judged("1.0", ORD="pass"))
    bad: Any = {"ORD": TimelineItem("ORD", "pass", good=True), "x": object()}

    with pytest.raises(AttributeError):
        timeline.add(VersionJudged("eino", "1.1", bad, "d", "t"))

    assert [each.version for each in timeline.history().versions] == ["1.0"]


def test_a_file_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE mine (a)")
    before = path.read_bytes()

    with pytest.raises(TimelineError, match="is of another program"):
        Timeline(path).add(judged("1.0", ORD="pass"))

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "told"), [(b"hello " * 200, "is not a timeline"), (None, "no such file")]
)
def test_what_is_no_timeline_is_told(
    tmp_path: Path, data: bytes | None, told: str
) -> None:
    if data is not None:
        (tmp_path / "v.db").write_bytes(data)

    with pytest.raises(TimelineError, match=told):
        Timeline(tmp_path / "v.db").history()


def test_a_newer_file_is_told(tmp_path: Path) -> None:
    Timeline(tmp_path / "v.db").add(judged("1.0", ORD="pass"))
    with sqlite3.connect(tmp_path / "v.db") as base:
        base.execute("PRAGMA user_version = 9")

    with pytest.raises(TimelineError, match="has version 9, and 1 is read here"):
        Timeline(tmp_path / "v.db").subjects()


def test_of_several_subjects_one_is_named(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "v.db")
    for subject in ("eino", "adk"):
        timeline.add(judged("1.0", subject, ORD="pass"))

    assert timeline.history("adk").subject == "adk"
    for name in ("", "langchain"):
        with pytest.raises(TimelineError, match="there are adk, eino"):
            timeline.history(name)
    with pytest.raises(TimelineError, match=r"'2.0'; there are 1.0"):
        timeline.version("2.0", "adk")


# What changed


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("pass", "fail", "worse"),
        ("blocked", "fail", "worse"),
        ("pass", "blocked", "lost"),
        ("fail", "pass", "better"),
        ("fail", "blocked", "other"),
        ("blocked", "pass", "better"),
        ("", "fail", "new"),
        ("pass", "", "gone"),
    ],
)
def test_each_change_has_its_kind(old: str, new: str, kind: str) -> None:
    sides = [judged(v, **({"A": s} if s else {})) for v, s in (("1", old), ("2", new))]

    assert [each.kind for each in changes(*sides)] == [kind]
    assert changes(sides[0], sides[0]) == []


def history(*verdicts: str) -> VersionHistory:
    found = (judged(f"{at}", A=each) for at, each in enumerate(verdicts))
    return VersionHistory("eino", tuple(found))


def test_an_item_is_bad_since_the_last_time_that_it_became_so() -> None:
    assert history("pass", "fail", "fail").first_bad("A") == "1"
    assert history("fail", "pass", "fail").first_bad("A") == "2"
    assert history("fail", "pass").first_bad("A") == ""


# The first bad version


def bisected(verdicts: Sequence[str | None]) -> tuple[Bisection, list[str]]:
    asked: list[str] = []

    def judge(version: str) -> VersionJudged | None:
        asked.append(version)
        said = verdicts[int(version)]
        return None if said is None else judged(version, A=said, B="fail")

    return Bisection([str(at) for at in range(len(verdicts))], judge), asked


@given(st.integers(2, 300), st.data())
def test_one_change_is_found_in_as_many_judgements_as_halving_takes(
    count: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, count - 1))
    bisection, asked = bisected(["pass"] * first + ["fail"] * (count - first))

    found = bisection.first_bad()

    assert (found.after, found.version) == (str(first - 1), str(first))
    assert [str(each) for each in found.worse] == ["A: pass → fail"]
    assert len(asked) == len(set(asked)) <= 2 + (count - 1).bit_length()
    assert not found.between
    assert not found.against


@given(st.lists(st.sampled_from(["pass", "fail", None]), min_size=2, max_size=12))
def test_what_is_told_is_so_whatever_the_versions_are(
    verdicts: list[str | None],
) -> None:
    verdicts = ["pass", *verdicts, "fail"]
    bisection, _ = bisected(verdicts)

    found = bisection.first_bad()

    assert verdicts[int(found.after)] == "pass"
    assert verdicts[int(found.version)] == "fail"
    assert {verdicts[int(each)] for each in found.between} <= {None}
    for each in found.against:
        before = int(each) < int(found.version)
        assert verdicts[int(each)] == ("fail" if before else "pass")


def test_nothing_to_find_is_told() -> None:
    for verdicts, told in (
        (["pass", "pass"], "nothing is worse in 1 than in 0"),
        (["fail", "fail"], "nothing is worse in 1 than in 0"),
        ([None, "fail"], "0 could not be judged"),
    ):
        with pytest.raises(NothingToFindError, match=told):
            bisected(verdicts)[0].first_bad()


# Commands

JUDGES = """
import json, sys
version, report, said = sys.argv[1:]
if said == "hangs":
    import time
    time.sleep(60)
if said != "breaks":
    results = [{"clause": "A", "verdict": said, "known": ""}]
    engine = {"engine": "mine", "results": results}
    header = {"tool": "t", "versions": {"mine": version}}
    tree = {"header": header, "digest": version + said, "engines": [engine]}
    open(report, "w").write(json.dumps(tree))
print("judged", version)
"""


def judging(folder: Path, verdicts: Mapping[str, str]) -> str:
    """Return a command that judges a version as it is told here."""
    (folder / "judges.py").write_text(JUDGES, "utf-8")
    code = (
        "import runpy, sys;"
        f"sys.argv.append({verdicts!r}[sys.argv[1]]);"
        f"runpy.run_path({str(folder / 'judges.py')!r})"
    )
    return f"{shlex.join([sys.executable, '-c', code])} {{version}} {{report}}"


def test_versions_are_halved_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["pass", "pass", "breaks", "fail", "fail", "fail"]
    verdicts = {f"1.{at}": each for at, each in enumerate(said)}
    line, file = judging(tmp_path, verdicts), tmp_path / "v.db"
    words = ["bisect", file, "--run", line, "--versions", ",".join(verdicts)]

    code, out, err = command(capsys, *words)
    again = command(capsys, *words, "--subject", "mine")

    assert (code, err) == (0, "")
    assert "1.2 could not be judged: exit code 0, judged 1.2" in out
    assert "first bad: 1.3, after 1.1\n  A: pass → fail\n" in out
    assert "so it may have been one of: 1.2" in out
    assert again[1].count("was there already") == 4
    assert len(Timeline(file).history().versions) == 4


def test_a_version_that_hangs_is_ended_and_passed_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = {"1": "pass", "2": "hangs", "3": "fail"}
    words = ["--run", judging(tmp_path, verdicts), "--versions", "1,2,3"]

    code, out, _ = command(capsys, "bisect", tmp_path / "v.db", *words, "--timeout=1")

    assert code == 0
    assert "2 could not be judged: it took more than 1 s" in out
    assert "first bad: 3, after 1" in out


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *words],  # noqa: S607  # whichever is installed
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_commits_are_halved_in_folders_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    hashes: list[str] = []
    for at, said in enumerate(["pass"] * 4 + ["fail"] * 3):
        code = JUDGES.replace("sys.argv[1:]", f"(*sys.argv[1:], {said!r})")
        (repository / "judges.py").write_text(f"{code}# {at}\n", "utf-8")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", str(at))
        hashes.append(git(repository, "rev-parse", "--short=12", "HEAD"))
    line = f"{shlex.quote(sys.executable)} judges.py {{version}} {{report}}"
    words = ["--run", line, "--repository", repository, "--commits"]

    code, out, err = command(
        capsys, "bisect", tmp_path / "v.db", *words, f"{hashes[0]}..HEAD"
    )

    assert (code, err) == (0, "")
    assert f"first bad: {hashes[4]}, after {hashes[3]}" in out
    assert git(repository, "worktree", "list").count("\n") == 0
    assert git(repository, "status", "--short") == ""


def test_reports_are_added_shown_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "v.db"
    said = ("pass", "pass"), ("pass", "fail"), ("blocked", "fail")
    paths = [
        written(tmp_path / f"{at}.json", report(f"1.{at}", ORD=a, INT=b, SUR="pass"))
        for at, (a, b) in enumerate(said)
    ]

    _, added, _ = command(capsys, "add", file, *paths)
    _, shown, _ = command(capsys, "show", file)
    code, compared, _ = command(capsys, "compare", file, "1.0", "1.2")
    back, better, _ = command(capsys, "compare", file, "1.1", "1.0")
    _, data, _ = command(capsys, "show", file, "--as-json")

    assert "eino 1.1: 1 of 3 not as they should be; added\n" in added
    assert "1 that never changed and are good are not shown" in shown
    assert shown.splitlines()[2].split() == ["INT", "pass", "fail", "fail", "1.1"]
    assert compared.splitlines()[1:] == [
        "worse:",
        "  INT: pass → fail",
        "no longer decided:",
        "  ORD: pass → blocked",
        "2 worse, 0 other changes",
    ]
    assert (code, back) == (1, 0)
    assert "better:\n  INT: fail → pass" in better
    assert [each["version"] for each in json.loads(data)["versions"]] == [
        "1.0",
        "1.1",
        "1.2",
    ]


def test_the_page_marks_the_first_bad_version_and_asks_nobody(tmp_path: Path) -> None:
    page = timeline_page([history("pass", "fail", "fail")])

    assert page.count('class="bad first"') == 1
    assert page.count('class="bad"') == 1
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page


def test_names_of_others_are_no_markup_of_the_page() -> None:
    bad = VersionJudged(
        "<i>", "<b>", {"<u>": TimelineItem("<u>", "<s>", good=False)}, "", ""
    )

    page = timeline_page([VersionHistory("<i>", (bad,))])

    assert not any(each in page for each in ("<i>", "<b>", "<u>", "<s>"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "v.db"], "give a report"),
        (["bisect", "v.db", "--run", "x {report}"], "give either --versions or"),
        (["bisect", "v.db", "--run", "x", "--versions", "1,2"], "has no {report}"),
        (["bisect", "v.db", "--run", "x {report}", "--versions", "1,1"], "each once"),
        (
            ["bisect", "v.db", "--run", "no-such-program {report}", "--versions=1,2"],
            "'no-such-program' cannot be started",
        ),
        (["bisect", "v.db", "--run", "x {report}", "--commits", "main"], "GOOD..BAD"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    code, out, err = command(capsys, *words)

    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not list(itertools.islice(tmp_path.iterdir(), 1))


def test_the_page_shows_what_its_commands_print(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    page = (root / "docs" / "timeline.md").read_text("utf-8")
    found = PAIRS.findall(page)
    shutil.copytree(root / "examples/first_run", tmp_path, dirs_exist_ok=True)

    printed = [shell(commands, tmp_path)[0] for commands, _ in found]

    assert printed == [shown for _, shown in found]
    assert len(found) == 2
