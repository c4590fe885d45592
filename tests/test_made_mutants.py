"""Made mutants: the engine with a small change, or an edit, of its own functions."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, cast

import pytest

from compat.cli.main import main
from property_tests.checks import CHECKS
from property_tests.corpus import SuiteCorpus
from property_tests.dialects.broken import BrokenReference
from property_tests.dialects.dialects import dialects
from property_tests.explaining import examples
from property_tests.judging import inputs
from property_tests.judging.inputs import MadeCorpus
from property_tests.matrix import Killing, StuckError, ended_after
from property_tests.mutants import MUTANTS, Mutant, UnknownMutantError, mutant
from property_tests.mutants.edited import EDITED, EditedMutant, UnfitEditError, edited
from property_tests.mutants.made import (
    ENGINE,
    UnknownChangeError,
    changes,
    made_change,
    made_mutant,
)
from property_tests.mutants.patching import Installed, PatchedDoor
from property_tests.registry import FAMILIES, contract
from refengine.profile import profile
from refengine.testing.doors import ReferenceEngine

SETTLE = "loop.Loop.settle"
LOST = "no self.events.extend(batch.snapshots())"
NAMED = [each for clause in contract().clauses for each in clause.made]
WORLDS = examples("EVT-014")
PATCHES = [
    *(
        pytest.param(each.wrong.patches(), id=each.id)
        for each in EDITED
        if isinstance(each.wrong, PatchedDoor)
    ),
    *(
        pytest.param(cast("BrokenReference", each.door()).patches, id=each.id)
        for dialect in dialects()
        for each in dialect.mutants
    ),
]


def kills(broken: Mutant) -> tuple[str, ...]:
    return Killing(WORLDS, CHECKS).kills(broken).by


def test_a_changed_function_is_noticed_and_the_reference_beside_it_is_right() -> None:
    broken = made_mutant("made-x", SETTLE, LOST, ("EVT-014",))
    right = Mutant(id="right", about="It is right.", violates=(), wrong=ReferenceEngine)

    assert (kills(broken), kills(right)) == (("EVT-014",), ())


def test_there_are_thousands_of_changes_each_under_its_number() -> None:
    found = [each for name in ENGINE for each in changes(name)]
    some = found[len(found) // 2]

    assert len(found) > 4_000
    assert len({each.id for each in found}) == len(found)
    assert mutant(some.id).about == f"{some.where}: {some.change.text}."
    assert mutant(some.id).violates == FAMILIES


@pytest.mark.parametrize("named", NAMED, ids=lambda each: each.change)
def test_a_change_that_a_clause_names_is_there(named) -> None:
    assert made_change(named.function, named.change).where == named.function


@pytest.mark.parametrize(
    ("function", "text"), [("loop.Loop.settle", "no other"), ("none.at_all", LOST)]
)
def test_a_change_that_is_not_there_is_told(function, text) -> None:
    with pytest.raises(UnknownChangeError, match="the engine has changed"):
        made_change(function, text)
    with pytest.raises(UnknownMutantError):
        mutant("loop:100000")


@pytest.mark.parametrize("patches", PATCHES)
def test_each_edit_fits_what_is_edited(patches: Sequence[Installed]) -> None:
    with ExitStack() as stack:
        for each in patches:
            each.install(stack)


def test_an_edited_function_is_noticed_and_is_put_back() -> None:
    function, code = edited(SETTLE, [("self.events.extend(", "list(")])
    right = function.__code__

    assert kills(mutant("made-evt-014-1")) == ("EVT-014",)
    assert function.__code__ is right is not code


@pytest.mark.parametrize(
    ("function", "text", "found"),
    [
        (SETTLE, "no such text", 0),
        (SETTLE, "self.", 9),
        ("loop.Loop.nothing", "self.", 0),
        ("none.at_all", "self.", 0),
    ],
)
def test_an_edit_that_does_not_fit_is_told(function, text, found) -> None:
    with pytest.raises(UnfitEditError, match=f"stands {found} times in {function}"):
        edited(function, [(text, "")])


@pytest.mark.parametrize(
    "given",
    [{}, {"posture": ("route", "last_left"), "edits": (("loop.Loop.run", "a", "b"),)}],
)
def test_a_mutant_with_neither_edits_nor_a_posture_or_both_is_refused(given) -> None:
    with pytest.raises(ValueError, match="x has edits or a posture, and not both"):
        EditedMutant(id="x", about="It is wrong.", violates="RUN-003", **given)


def test_a_mutant_by_posture_has_another_option_than_its_profile_says() -> None:
    broken = mutant("sequential-streams-opened-under-seed-001")
    engine: Any = broken.wrong(profile(broken.under))

    assert profile("seed-001").sequential_streams != "opened"
    assert engine.profile.sequential_streams == "opened"


def test_what_comes_to_no_end_is_interrupted_though_it_catches_that() -> None:
    caught: list[Exception] = []

    def spins() -> None:
        while True:
            try:
                while True:
                    pass
            except Exception as error:
                if caught:
                    raise
                caught.append(error)

    with pytest.raises(StuckError), ended_after(0.01, again=0.01):
        spins()
    assert len(caught) == 1


def made(monkeypatch, capsys, *args: str) -> tuple[object, str]:
    found = MadeCorpus(SuiteCorpus(tuple(WORLDS), 0), ())
    monkeypatch.setattr(inputs, "make_corpus", lambda *_: found)
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as left:
        main(["mutant", "made", "-j", "1", *args])
    return left.value.code, capsys.readouterr().out


def test_command_lists_what_no_clause_notices(monkeypatch, capsys) -> None:
    code, told = made(monkeypatch, capsys, "--function", "Context.__repr__")

    assert code == 1
    assert "refengine/context.py:79  Context.__repr__" in told
    assert "0 of 4 small changes are noticed by a clause, of 4 that there are" in told


def test_command_succeeds_where_each_is_noticed(monkeypatch, capsys) -> None:
    code, told = made(monkeypatch, capsys, "--function", "CallBatch.snapshots")

    assert (code, told) == (
        0,
        "1 of 1 small change is noticed by a clause, of 1 that there are; 1 world\n",
    )


def test_command_says_that_nothing_was_made(monkeypatch, capsys) -> None:
    code, _ = made(monkeypatch, capsys, "--function", "nowhere")

    assert code == 4


def test_each_clause_with_a_change_has_it_as_a_mutant() -> None:
    named = {each.id for each in contract().clauses if each.made}
    ids = [each for each in MUTANTS if each.id.startswith("made-")]

    assert {each.violates[0] for each in ids} == named
