"""The first commit of one's own repository that changed a behaviour."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from compat.timeline.bisecting import MainLine, NothingToFindError
from compat.verdicts.timeline import FirstBad, TimelineItem, VersionJudged
from tests.commands import refengine

AGENT = """\
from refengine import AgentMiddleware
from tone import TEXT

def subject(world):
    return [AgentMiddleware(additional_instruction=TEXT)]
"""


class Repository:
    """A repository whose commits are called by their messages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        who = {
            f"GIT_{a}_{b}": "x"
            for a in ("AUTHOR", "COMMITTER")
            for b in ("NAME", "EMAIL")
        }
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words],  # noqa: S607  # the user's git
            env={**os.environ, **who, **alone},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, tone: str = "") -> None:
        """Commit another tone, or nothing else."""
        if tone:
            (self.folder / "tone.py").write_text(f"{tone}\n", "utf-8")
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def merge(self, branch: str, message: str) -> None:
        self.git("merge", "-q", "--no-ff", "-m", message, branch)

    def first_bad(
        self, span: str, is_bad: Callable[[str], bool]
    ) -> tuple[FirstBad, list[str]]:
        """Search with a judge that looks at messages; return what was told, too."""
        line, told = MainLine(self.folder), list[str]()

        def judge(commit: str) -> VersionJudged:
            item = TimelineItem("agent.py", "a word", not is_bad(line.subject(commit)))
            return VersionJudged("agent.py", commit, {"agent.py": item}, "", "")

        return line.first_bad(line.commits(span), judge, told.append), told

    def message(self, commit: str) -> str:
        return self.git("log", "-1", "--format=%s", commit)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository with an agent that is kind, tagged v1."""
    found = Repository(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT, "utf-8")
    found.commit("Be kind", 'TEXT = "kind"')
    found.git("tag", "v1")
    return found


def with_branch(repository: Repository) -> None:
    """Let the repository merge a branch of three commits."""
    repository.git("checkout", "-q", "-b", "side")
    for each in ("side 1", "side 2", "side 3"):
        repository.commit(each)
    repository.git("checkout", "-q", "main")
    repository.commit("main 1")
    repository.merge("side", "merge")
    repository.commit("main 2")


def test_first_commit_is_found_past_one_that_cannot_be_imported(
    repository: Repository,
) -> None:
    repository.commit("Break it", "import nothing_of_this_name")
    repository.commit("Be brief", 'TEXT = "brief"')

    line = ("agent.py", "--commits", "v1..HEAD", "--examples", "1")
    done = refengine("migrate", "bisect", *line, at=repository.folder)

    assert (done.returncode, done.stderr) == (0, "")
    broken, brief = (
        repository.git("rev-parse", "--short=12", x) for x in ("HEAD~1", "HEAD")
    )
    kind = repository.git("rev-parse", "--short=12", "v1")
    assert f"{broken}: cannot be judged: " in done.stdout
    assert "nothing_of_this_name" in done.stdout
    assert f"first bad: {brief}, after {kind}\n  Be brief\n" in done.stdout
    assert f"so it may have been one of: {broken}\n" in done.stdout
    assert "INSTRUCTION  " in done.stdout
    assert f"new  {brief}:agent.py" in done.stdout
    assert repository.git("status", "--porcelain") == ""


def test_commit_that_a_merge_brought_is_found(repository: Repository) -> None:
    with_branch(repository)
    bad = {"side 2", "side 3", "merge", "main 2"}

    found, told = repository.first_bad("v1..HEAD", lambda each: each in bad)

    assert repository.message(found.version) == "side 2"
    assert told[0].endswith(" merges 3 commits")


def test_merge_that_is_bad_by_itself_is_found(repository: Repository) -> None:
    with_branch(repository)

    found, told = repository.first_bad("v1..HEAD", {"merge", "main 2"}.__contains__)

    assert repository.message(found.version) == "merge"
    assert "itself, then: nothing is worse in" in told[1]


def test_commits_between_which_nothing_changed_are_told(repository: Repository) -> None:
    repository.commit("Write a page")

    with pytest.raises(NothingToFindError, match="nothing is worse in"):
        repository.first_bad("v1..HEAD", lambda _: False)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("agent.py", "--commits", "HEAD..v1"), "v1 does not come after HEAD"),
        (("agent.py", "--commits", "v1..v1"), "v1 does not come after v1"),
        (("agent.py", "--commits", "v1"), "is not a GOOD..BAD, such as v1.0..HEAD"),
        (("agent.py", "--commits", "v1..nobody"), "git rev-list: fatal: "),
        (("agent.py", "--commits", "none..HEAD"), "git rev-parse: fatal: "),
        (("later.py", "--commits", "v1..HEAD"), "later.py is not in revision"),
        (("package.agent:subject", "--commits", "v1..HEAD"), "give file.py or"),
        (("agent.py", "--commits", "v1..HEAD", "--to", "2"), "stands for itself"),
        (("agent.py", "--package", "greeting"), "give --package with --from and --to"),
    ],
)
def test_commits_that_say_no_range_are_refused(
    line: tuple[str, ...], told: str, repository: Repository
) -> None:
    (repository.folder / "later.py").write_text(AGENT, "utf-8")
    repository.commit("Write it later")

    done = refengine("migrate", "bisect", *line, at=repository.folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_folder_without_a_repository_is_told(tmp_path: Path) -> None:
    done = refengine("migrate", "bisect", "a.py", "--commits", "a..b", at=tmp_path)

    assert done.returncode == 2
    assert "not a git repository" in done.stderr
