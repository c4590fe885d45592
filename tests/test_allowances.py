"""What a migration allows on purpose, and what it does not let pass with that."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from compat.cli.main import main
from compat.migration.differences import AllowedTexts
from compat.verdicts.migration import Difference
from tests.few_worlds import checking_in_few

SUBJECT = """
from refengine import AgentMiddleware

def subject(world):
    return [AgentMiddleware(additional_instruction="SAYS")]
"""
ALLOWED = """
[[cases.'new.py'.allow]]
channel = ["requests", "state", "second_turn"]
path = "[*].messages[*].content"
role = "system"
old = "*Be brief.*"
new = "*Be short.*"
reason = "shorter"
world = "world.json"
"""
FEW = ("--examples", "1", "--sharpness-plays", "0", "--search-plays", "0")


def _between(old: str, new: object, role: str = "tool") -> Difference:
    return Difference("requests", "[0].messages[2].content", old, new, role=role)


@pytest.mark.parametrize(
    ("found", "covered"),
    [
        (_between("no tool x", "there is no x"), True),
        (_between("no tool x\ny", "there is no x\ny"), True),
        (_between("no tool x", "there is no x", role="user"), False),
        (_between("no tool x", "there was no x"), False),
        (_between("any tool x", "there is no x"), False),
        (_between("no tool x", "(nothing)"), False),
        (_between("no tool x", 1), False),
    ],
)
def test_allowed_are_these_texts_in_messages_of_this_role(found, covered) -> None:
    path = "[*].messages[*].content"
    allowed = AllowedTexts(
        "requests", path, role="tool", old="no tool *", new="there is no *"
    )

    assert allowed.covers(found) is covered


@pytest.mark.parametrize(
    ("wanted", "text", "covered"),
    [
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "a-c-b", False),
        ("ab*ba", "aba", False),
        ("*", "", True),
        ("a", "ab", False),
        ("*b", "ab", True),
        ("a*", "ba", False),
    ],
)
def test_a_star_stands_for_any_piece_of_a_text(wanted, text, covered) -> None:
    allowed = AllowedTexts("requests", "[*]", old=wanted)

    assert allowed.covers(Difference("requests", "[0].x", text, "y")) is covered


@pytest.fixture
def check(capfd, monkeypatch, tmp_path):
    """Check ports of a subject that say something else; return code and output."""
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(SUBJECT.replace("SAYS", "Be brief."), "utf-8")

    def run(says: str, *options: str) -> tuple[object, str]:
        Path("new.py").write_text(SUBJECT.replace("SAYS", says), "utf-8")
        with pytest.raises(SystemExit) as raised:
            main(["migrate", "check", "old.py", "new.py", *FEW, *options])
        return raised.value.code, capfd.readouterr().out

    return run


def test_a_right_wording_lets_no_wrong_one_pass(check) -> None:
    _, told = check("Be short.", "--save-world", "world.json")
    Path("migration.toml").write_text(ALLOWED, "utf-8")

    right = check("Be short.", "--settings", "migration.toml")
    wrong, said = check("Be long.", "--settings", "migration.toml")

    assert "INSTRUCTION" in told
    assert right[0] == 0, right[1]
    assert wrong == 1
    assert "INSTRUCTION" in said


def test_what_is_proposed_can_be_pasted_and_allows_what_is_shown(check) -> None:
    _, told = check("Be short.", "--reproducer", "repro")
    proposed = told[told.index("If it is meant") :].partition("\n\n")[0]
    Path("migration.toml").write_text(proposed.partition("\n")[2], "utf-8")

    _, said = check("Be short.", "--settings", "migration.toml")

    assert '[[cases."new.py".allow]]' in proposed
    assert "allowed in requests [*].messages[*].content (...): used" in said


def test_a_program_writes_the_world_that_its_allowance_needs(
    tmp_path, capfd, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(Path(__file__).parent / "programs" / "plain.py", tmp_path)
    old = shlex.join([sys.executable, "plain.py"])
    cold = f"{old} cold"
    line = ("--old-cmd", old, "--new-cmd", cold, "--examples", "1")

    def run(*options: str) -> tuple[object, str]:
        with checking_in_few(), pytest.raises(SystemExit) as raised:
            main(["migrate", "check", *line, *options])
        return raised.value.code, capfd.readouterr().out

    code, told = run("--save-world", "world.json")
    path = re.search(r"path = (.*)$", told, re.MULTILINE)
    assert path
    Path("migration.toml").write_text(
        f"[cases.{cold!r}]\n[[cases.{cold!r}.allow]]\nchannel = 'requests'\n"
        f"path = {path[1]}\nreason = 'its default'\nworld = 'world.json'\n"
    )
    allowed, said = run("--settings", "migration.toml")

    assert code == 1, told
    assert allowed == 0, said
    assert "allowed in requests" in said


def test_without_a_divergence_no_world_is_written_and_that_is_said(
    check, capfd
) -> None:
    del check
    with pytest.raises(SystemExit) as raised:
        main(
            ["migrate", "check", "old.py", "old.py", *FEW, "--save-world", "world.json"]
        )

    assert raised.value.code == 0
    assert "world.json is not written" in capfd.readouterr().err
    assert not Path("world.json").exists()
