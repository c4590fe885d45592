"""Documented changes of packages: which lie between two releases, and what is named."""

from pathlib import Path

import pytest

from compat.migration.known_changes import (
    KnownChangesError,
    ReleaseRangeError,
    UnknownPackageError,
    changes_between,
    documented,
    known_changes,
    read_changes,
)
from compat.report.migration import lines
from compat.verdicts.migration import (
    DescribedDivergence,
    Difference,
    DocumentedChange,
    Migration,
)
from refengine.testing import Scenario
from tests.commands import refengine

ROW = next(each for each in known_changes() if each.id == "pydantic-ai-graceful-end")
FOUND = Difference("tool_executions", "[3]", None, {"name": "charge"})
CODE = {"agent.py": ROW.subject}
UPGRADE = {"pydantic-ai-slim": ("1.100.0", "2.3.0"), "pydantic": ("2.1", "2.2")}
GIVEN = """
also = {}
[[change]]
id = "a"
package = "p"
before = "1.0"
since = "2.0"
says = "A sentence that says what changes."
link = "https://example.org"
concerns = ["Agent"]
code = "EXTRA_CALL"
channel = "tool_executions"
path = ""
subject = "Agent()"
[change.world]
agent = {}
model_script = []
runs = []
"""


def test_difference_is_held_against_the_changes_between_the_versions() -> None:
    named = documented(FOUND, "EXTRA_CALL", UPGRADE, CODE)

    assert named == [ROW.told]


@pytest.mark.parametrize(
    ("old", "new"),
    [("2.0.0", "2.3.0"), ("1.0", "1.107.10"), ("2.3.0", "1.0"), ("", "2.1")],
)
def test_change_outside_of_the_versions_is_not_named(old: str, new: str) -> None:
    versions = {"pydantic-ai-slim": (old, new)}

    assert not documented(FOUND, "EXTRA_CALL", versions, CODE)


def test_other_difference_or_code_that_is_not_concerned_names_nothing() -> None:
    other = Difference("tool_executions", "[3].name", None, "charge")

    assert not documented(other, "EXTRA_CALL", UPGRADE, CODE)
    assert not documented(FOUND, "MISSING_CALL", UPGRADE, CODE)
    assert not documented(FOUND, "EXTRA_CALL", UPGRADE, {"agent.py": "Agent()"})


def test_report_says_what_a_divergence_may_be_and_where_that_is_told() -> None:
    shown = DescribedDivergence("EXTRA_CALL", "error", "It runs.", FOUND, "run 1")
    world = Scenario.model_validate({"agent": {}, "model_script": (), "runs": ()})
    told = DocumentedChange("p", "2.0", "It changes.", "https://example.org")
    verdict = Migration(
        "same-effects", 1, "", divergence=shown, world=world, documented=[told]
    )

    text = "\n".join(each.plain for each in lines(verdict))

    assert "known  may be: It changes. (p 2.0, https://example.org)" in text


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [("1.0", "2", True), ("1.107.10", "2.0.0", True), ("2.0", "2", False)],
)
def test_changes_lie_behind_the_older_release_and_up_to_the_newer(
    first: str, last: str, found: bool
) -> None:
    assert (ROW in changes_between("Pydantic_AI", first, last)) == found


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (("pydantic-ai", "2.0", "1.0"), 2, "1.0 does not come after 2.0"),
        (("pydantic-ai", "1.0", "1.0"), 2, "1.0 does not come after 1.0"),
        (("nobody", "1", "2"), 2, "no changes of nobody are written down, only of"),
        (("pydantic-ai", "one", "2"), 2, "'one' is not a version"),
        (("pydantic-ai", "0.1", "0.2"), 4, "does not say that there is none"),
    ],
)
def test_list_that_cannot_be_given_says_why(
    line: tuple[str, ...], code: int, told: str, tmp_path: Path
) -> None:
    done = refengine("migrate", "known", *line, at=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr


def test_list_has_each_change_and_the_code_that_shows_it(tmp_path: Path) -> None:
    line = ("pydantic-ai", "1.107", "2.0", "--subjects", "shown")

    done = refengine("migrate", "known", *line, at=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"pydantic-ai-slim 2.0.0\n  {ROW.says}\n" in done.stdout
    assert "--old-with pydantic-ai-slim==1.107.10" in done.stdout
    written = (tmp_path / "shown" / "pydantic_ai_graceful_end.py").read_text("utf-8")
    assert written == ROW.subject


@pytest.mark.parametrize(
    ("part", "wrong", "told"),
    [
        ('before = "1.0"', 'before = "3.0"', "3.0 is not before 2.0"),
        ('before = "1.0"', 'before = "x"', "Invalid version: 'x'"),
        ('"EXTRA_CALL"', '"EXTRA"', "EXTRA"),
        ('["Agent"]', '["Runner"]', "its subject does not speak of Runner"),
        ('["Agent"]', "[]", "change.0.concerns"),
        ("https", "http", "change.0.link"),
        ("also = {}", 'also = { q = "z" }', "there are no changes of z"),
        ('id = "a"', 'id = "a"\nmore = 1', "change.0.more"),
        ("runs = []", "runs = 1", "the world"),
        ('id = "a"', "id = ", "Invalid value"),
    ],
)
def test_file_that_says_something_wrong_is_refused(
    part: str, wrong: str, told: str
) -> None:
    assert read_changes(GIVEN).change[0].id == "a"

    with pytest.raises(KnownChangesError, match=told):
        read_changes(GIVEN.replace(part, wrong))


def test_unknown_package_and_reversed_range_are_errors_of_their_own() -> None:
    with pytest.raises(UnknownPackageError, match="migrate check"):
        changes_between("nobody", "1", "2")
    with pytest.raises(ReleaseRangeError):
        changes_between("pydantic-ai", "2", "1")
