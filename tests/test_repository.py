"""What the repository's text says and does not say."""

import fnmatch
import gzip
import os
import re
import runpy
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Written apart, so that this file names none either.
HOSTS = ["pypi org", "pythonhosted org", "npmjs org", "npmjs com", "yarnpkg com"]
REGISTRIES = re.compile("|".join(host.replace(" ", r"\.") for host in HOSTS))
MACHINE_PATH = re.compile(
    r"(?<![\w.~/}<>-])/(?:home|mnt|opt|private|root|tmp|Users|var|work)(?:/[\w.~-]|(?![\w/]))"
)
# Of a process: an address, a folder of tempfile or pytest, and the time, which gzip
# writes behind its first four bytes if it is not told another one.
OF_A_PROCESS = re.compile(
    r"0x[0-9a-f]{8,}|[/]tmp[a-z0-9_]{8}|/pytest-of-"
    r"|\\x1f\\x8b\\x08\\x0[08](?!\\x00\\x00\\x00\\x00)"
)
LOCKS = (
    "*.lock",
    "*-lock.json",
    "*-lock.yaml",
    "pylock*.toml",
    "go.sum",
    "npm-shrinkwrap.json",
)


def ignored() -> list[str]:
    """Return the patterns of .gitignore, which name files and folders, not paths."""
    lines = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    return [".git", *(line.rstrip("/") for line in lines if line)]


def files(root: Path = ROOT) -> Iterator[Path]:
    """Yield what is tracked or about to be; git is not asked, CI's copy has none."""
    patterns = ignored()

    def kept(names: list[str]) -> list[str]:
        return [n for n in names if not any(fnmatch.fnmatch(n, p) for p in patterns)]

    for folder, folders, names in os.walk(root):
        folders[:] = kept(folders)
        yield from (Path(folder, name) for name in kept(names))


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of each text file."""
    for path in files():
        content = path.read_bytes()
        if b"\0" not in content:
            yield str(path.relative_to(ROOT)), content.decode("utf-8", "replace")


def found(pattern: re.Pattern[str], suffix: str = "") -> list[str]:
    """Return where a pattern stands in the text files, and what it matched."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for name, text in texts()
        if name.endswith(suffix)
        for match in pattern.finditer(text)
    ]


def commands(text: str) -> list[str]:
    """Return the commands that CI takes from a README of that text."""
    script = runpy.run_path(str(ROOT / ".ci" / "readme_commands.py"))
    found: list[str] = script["commands"](text)
    return found[:2]


def test_walk_sees_the_repository() -> None:
    names = {name for name, _ in texts()}

    assert {"pyproject.toml", ".ci/run", "refengine/chain.py"} <= names
    assert not any("__pycache__" in name or name.startswith(".git/") for name in names)


def test_no_package_registry_is_named() -> None:
    assert found(REGISTRIES) == []


def test_no_machine_path_is_named() -> None:
    assert found(MACHINE_PATH) == []


@pytest.mark.parametrize("folder", ["home", "root", "work", "tmp", "Users"])
@pytest.mark.parametrize("form", ["/{}/x", '"/{}"', "see /{}/.cache.", "in /{}, or"])
def test_machine_path_is_recognised(folder: str, form: str) -> None:
    assert MACHINE_PATH.search(form.format(folder))


@pytest.mark.parametrize(
    "text",
    ["~/work/x", "../work/x", "docs/home/x", "https://a.example/home/x", "/workers/1"],
)
def test_other_paths_are_left_alone(text: str) -> None:
    assert not MACHINE_PATH.search(text)


def test_ids_of_tests_are_the_same_in_every_process(
    request: pytest.FixtureRequest,
) -> None:
    # Of all that this run collected. What depends on the order of a set differs between
    # the workers of each run, which pytest-xdist tells.
    ids = [each.nodeid for each in request.session.items]

    assert [each for each in ids if OF_A_PROCESS.search(each)] == []


def test_id_of_one_process_is_recognised(tmp_path: Path) -> None:
    packed, timeless = gzip.compress(b"x", mtime=1), gzip.compress(b"x", mtime=0)

    assert all(map(OF_A_PROCESS.search, map(ascii, [object(), str(tmp_path), packed])))
    assert not OF_A_PROCESS.search(ascii(timeless))


def test_no_lock_files() -> None:
    names = [path.name for path in files()]

    assert [n for n in names if any(fnmatch.fnmatch(n, p) for p in LOCKS)] == []


def test_readme_opens_with_two_commands_from_an_empty_folder() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    opening = "\n".join(readme.splitlines()[:40])
    main, tests = commands(readme)

    assert main.startswith("python3 -m venv ")
    assert tests.startswith("python3 -m venv ")
    assert "refengine " in main
    assert "pytest" in tests
    assert commands(opening) == [main, tests]


@pytest.mark.parametrize(
    "text",
    [
        "# A\n```sh\none && 1\ntwo\nthree\n```\n",
        "```console\n$ one && 1\n```\nwords\n```bash\n# the tests\ntwo\n```\n",
        "```python\nzero\n```\n```sh\none && \\\n  1\n\ntwo\n```\n",
    ],
)
def test_commands_are_taken_as_a_reader_would(text: str) -> None:
    one, two = commands(text)

    assert one.split() == ["one", "&&", "1"]
    assert two == "two"


def test_ci_can_be_run_and_takes_its_commands_from_the_readme() -> None:
    path = ROOT / ".ci" / "run"

    assert ".ci/readme_commands.py" in path.read_text("utf-8")
    assert os.access(path, os.X_OK)


def test_each_test_file_runs_on_every_python_or_says_that_one_is_enough() -> None:
    """A new file is in no list of tests/pythons.toml until somebody has decided."""
    groups = tomllib.loads((ROOT / "tests/pythons.toml").read_text("utf-8"))
    there = {
        path.relative_to(ROOT / "tests").as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
    }

    assert set(groups) == {"every", "first"}
    assert all(groups.values())
    assert sorted(chain.from_iterable(groups.values())) == sorted(there)
    assert all(names == sorted(names) for names in groups.values())


def ignored_rules() -> set[str]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lint = config["tool"]["ruff"]["lint"]
    return set(chain(lint["ignore"], *lint["per-file-ignores"].values()))


def test_the_lists_of_what_to_touch_name_what_there_is() -> None:
    """Each file is there, and so is, in one of its step, each name of its code."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    steps = re.findall(
        r"^\d+\. .*$", text.partition("### A new posture")[2], re.MULTILINE
    )
    lost, named = list[str](), 0
    for step in steps:
        words = re.findall(r"`([^`\s]+)`", step)
        paths = [
            ROOT / e for e in words if "/" in e and not re.search("NAME|FAMILY", e)
        ]
        lost += [str(each) for each in paths if not each.exists()]
        files = [f for e in paths for f in ((e,) if e.is_file() else e.rglob("*.py"))]
        code = "\n".join(each.read_text("utf-8") for each in files)
        names = re.findall(r"`(_?[A-Z][A-Z_]{4,})`", step) if paths else []
        lost += [each for each in names if each not in code]
        named += len(names)

    assert lost == []
    assert len(steps) > 30
    assert named > 8


def test_all_rules_are_selected_and_each_ignored_one_has_a_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    reasoned = set(re.findall(r'^    "([A-Z]+\d*)",  # \w.{8,}$', text, re.MULTILINE))

    assert 'select = ["ALL"]' in text
    assert ignored_rules() - reasoned == set()


@pytest.mark.parametrize("mark", ["noqa", "type: ignore", "pyright: ignore"])
def test_each_silenced_line_names_its_rule_and_a_reason(mark: str) -> None:
    code = r"(?:: [A-Z]+\d+(?:, [A-Z]+\d+)*|\[[\w-]+(?:, ?[\w-]+)*\])"
    silenced = re.compile(rf"# {mark}(?!{code}  # \S.{{4,}}).*")

    assert found(silenced, suffix=".py") == []


SKIPS = {
    "tests/go_support.py": 1,  # Go, for which drivers are built with a user's code
    "tests/node_support.py": 1,  # Node, for which drivers in TypeScript are built
    "tests/test_langchain4j_driver.py": 1,  # a JDK with Maven, as for drivers in Java
    "tests/program_support.py": 1,  # node, and clients that CI installs where it is
    "tests/properties/test_differential.py": 1,  # engines that need Go or an extra
    "tests/test_rig_driver.py": 1,  # Cargo, with which the driver is built
    "tests/test_adk_go_driver.py": 1,  # Go, with which the driver is built
    "tests/test_adk_pack.py": 1,  # the extra adk; a step of CI has it
    "tests/test_eino_differential.py": 1,  # Go, with which the driver is built
    "tests/test_eino_driver.py": 1,  # Go, with which the driver is built
    "tests/test_cancel.py": 1,  # asyncio before Python 3.13; CI has 3.13, too
    "tests/test_conform_page.py": 1,  # a browser, which is not everywhere
    "tests/test_driver_skeletons.py": 1,  # Go, with which one of them is built
    "tests/test_drawn_worlds.py": 1,  # another release of Hypothesis draws others
    "tests/test_flow_google_adk.py": 1,  # the extra adk; a step of CI has it
    "tests/test_flow_subjects.py": 1,  # the extra adk; a step of CI has it
    "tests/test_flow_known.py": 1,  # the extra adk; a step of CI judges that door
    "tests/test_hand_over_adk.py": 1,  # the same
    "tests/test_migrate_adk.py": 1,  # the same
    "tests/test_order_audit_adk.py": 1,  # the same
    "tests/test_hostile.py": 1,  # processes that are taken apart as Linux lets them
    "tests/test_migrate_programs.py": 2,  # node; namespaces
    "tests/test_models_derived.py": 4,  # vendors' cassettes, which are kept elsewhere
    "tests/test_observers_judged.py": 2,  # opentelemetry, as for test_setups.py
    "tests/test_process.py": 1,  # what a process waited, which Linux alone counts
    "tests/test_owned.py": 1,  # marks, which Linux alone has
    "tests/test_peers_frameworks.py": 1,  # the extra peers; a step of CI has it
    "tests/test_peers_more.py": 1,  # the same
    "tests/test_setups.py": 1,  # opentelemetry, whose page has it installed
    "tests/test_sharpness.py": 1,  # limits of memory, which Linux alone has so
    "tests/test_vendor_clients.py": 1,  # clients of Node, which CI has where node is
    "tests/test_warm.py": 1,  # langgraph, which the newest Python of CI is not given
    "tests/wire_support.py": 1,  # vendors' cassettes
}


def test_what_may_be_skipped_is_pinned() -> None:
    skips = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|importorskip|xfail)\(")
    counts = {
        path.relative_to(ROOT).as_posix(): len(skips.findall(path.read_text("utf-8")))
        for path in sorted((ROOT / "tests").rglob("*.py"))
    }

    assert {path: count for path, count in counts.items() if count} == SKIPS
