"""``refengine clause``: the clauses listed, and one shown by a run."""

import json
from dataclasses import replace

import pytest

from compat.cli.clause import explained
from compat.cli.main import main
from property_tests import explaining, registry
from property_tests.check import Check, Decision
from property_tests.corpus import CorpusWorld, fixed_worlds
from property_tests.dialects.dialects import dialects
from property_tests.explaining import examples, shown, violating
from property_tests.registry import Clause, OwnSource, contract
from property_tests.stores.clauses import store_contract
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario

CHECKED = [each.id for each in contract().checked]
DECIDED = OwnSource(decision="It has to be one way.")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["clause", *arguments])
    code = left.value.code
    assert isinstance(code, int)
    return code


def wide(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def test_a_narrow_terminal_loses_no_word_of_a_list(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run("list", "--clause", "ORD-001") == 0
    narrow = capsys.readouterr().out
    (found,) = contract().select(("ORD-001",))

    assert {*found.sentence.split()} <= {*narrow.split()}


def clause(**changed) -> Clause:
    given = {
        "id": "ORD-999",
        "level": "SHOULD",
        "sentence": "Hooks run.",
        "intent": "Somebody relies on it.",
        "source": DECIDED,
        "status": "planned",
        "why": "It needs a store.",
        **changed,
    }
    return Clause.model_validate(given)


def text_of(found: Clause) -> str:
    return "\n".join(each.plain for each in explained(found))


def of_dialects():
    """Return the clauses of all dialects."""
    return tuple(clause for each in dialects() for clause in each.contract.clauses)


def test_list_shows_every_clause_and_counts_them(monkeypatch, capsys) -> None:
    wide(monkeypatch)
    assert run("list") == 0

    told = capsys.readouterr().out
    assert all(each.id in told and each.sentence in told for each in contract().clauses)
    others = (*store_contract().clauses, *of_dialects())
    assert all(each.id in told for each in others)
    count = len(contract().clauses) + len(others)
    checked = len(CHECKED) + sum(each.status == "checked" for each in others)
    assert f"{count} clauses: {checked} checked" in told


def test_list_shows_one_status(monkeypatch, capsys) -> None:
    wide(monkeypatch)
    assert run("list", "--status", "checked", "--as-json") == 0

    told = json.loads(capsys.readouterr().out)
    spoken = (each for each in of_dialects() if each.status == "checked")
    others = (*store_contract().checked, *spoken)
    known = [*CHECKED, *(each.id for each in others)]
    assert [each["id"] for each in told["clauses"]] == known
    assert told["version"] == contract().version


def test_list_as_json_says_all_that_is_in_the_registry(capsys) -> None:
    assert run("list", "--as-json", "-k", "ORD-001") == 0

    out, err = capsys.readouterr()
    assert not err
    [told] = json.loads(out)["clauses"]
    assert Clause.model_validate(told) == contract().clause("ORD-001")


def test_a_flag_goes_by_its_former_name_too_and_says_the_new_one(capsys) -> None:
    assert run("list", "--json", "-k", "ORD-001") == 0

    out, err = capsys.readouterr()
    assert json.loads(out)["clauses"]
    assert err.endswith("--json is called --as-json now\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("list", "-k", "ODR"), "no clause matches 'ODR'; did you mean ORD"),
        (("list", "--status", "done"), "'done' is not one of"),
        (("explain", "ORD-0001"), "no clause matches 'ORD-0001'; did you mean ORD-0"),
        (("explain", "ORD"), "no clause matches 'ORD'"),
        (("explain",), "Missing argument"),
    ],
)
def test_a_mistake_is_told_without_a_traceback(capsys, arguments, told) -> None:
    assert run(*arguments) == 2

    assert told in " ".join(capsys.readouterr().err.split())


def test_an_id_may_be_written_in_any_case(capsys) -> None:
    assert run("explain", "int-001") == 0

    assert capsys.readouterr().out.startswith("INT-001  ")


def test_a_list_of_nothing_is_no_success(monkeypatch, capsys) -> None:
    one = contract().model_copy(update={"clauses": (contract().clause("ORD-001"),)})
    monkeypatch.setattr(registry, "contract", lambda: one)

    assert run("list", "--status", "planned", "-k", "ORD") == 4
    assert "no clause is planned" in capsys.readouterr().err


@pytest.mark.one_in(5)
@pytest.mark.parametrize("id_", CHECKED)
def test_explain_shows_a_world_and_a_mutant_that_fails_in_it(id_) -> None:
    text = text_of(contract().clause(id_))

    assert contract().clause(id_).sentence in text
    assert "A world that decides it:\n  " in text
    assert "in that world" in text
    assert "  asked for: " in text
    assert all(each.about in text for each in violating(id_))


@pytest.mark.parametrize("id_", ["STO-010", "STO-025"])
def test_explain_shows_calls_and_a_broken_store(id_) -> None:
    text = text_of(store_contract().clause(id_))

    assert "A world that decides it:\n  1a: append(" in text
    assert "Store: " in text.partition("Broken stores that violate it:")[2]
    assert "  got:       " in text
    assert ("Only for a store that declares lasting" in text) is (id_ == "STO-025")


def test_explain_marks_the_deciding_observation_among_those_near_it(capsys) -> None:
    assert run("explain", "ORD-001") == 0

    lines = capsys.readouterr().out.splitlines()
    [at] = [place for place, line in enumerate(lines) if line.startswith("  > ")]
    assert "hook_enter" in lines[at]
    assert lines[at - 1].startswith("    ")


def test_explain_says_why_a_clause_is_not_checked_and_plays_nothing() -> None:
    text = text_of(clause())

    assert "ORD-999  SHOULD, planned" in text
    assert "Not checked (planned): It needs a store." in text
    assert "decided: It has to be one way." in text
    assert "Mutants" not in text


def test_explain_says_what_each_profile_chooses() -> None:
    text = text_of(clause(postures=["both_lists"]))

    assert "Depends on both_lists: warning (seed-001, " in text
    assert "; silent (eino-" in text


def test_examples_are_the_fixed_worlds_of_a_clause_shortest_first() -> None:
    short = CorpusWorld(
        read_scenario({"agent": {}, "runs": []}), "a", fixed=True, clause="A"
    )
    long = CorpusWorld(
        read_scenario({"agent": {"instruction": "B"}, "runs": []}),
        "a",
        fixed=True,
        clause="A",
    )
    other = CorpusWorld(short.scenario, "a", fixed=True, clause="B")
    drawn = CorpusWorld(short.scenario, "a", fixed=False, clause="A")

    assert examples("A", [long, other, drawn, short]) == [short, long]


def test_nothing_is_shown_of_a_mutant_that_no_world_refutes(monkeypatch) -> None:
    [right] = violating("ORD-001")[:1]
    same = replace(right, wrong=ReferenceEngine)
    monkeypatch.setattr(explaining, "violating", lambda _: [same])

    assert shown("ORD-001", examples("ORD-001")) is None


def test_a_mutant_that_breaks_down_is_passed_over(monkeypatch) -> None:
    def down(_):
        raise ZeroDivisionError

    [first] = violating("ORD-001")[:1]
    both = [replace(first, id="down", wrong=down), first]
    monkeypatch.setattr(explaining, "violating", lambda _: both)

    found = shown("ORD-001", examples("ORD-001"))
    assert found is not None
    assert found.mutant is first


def test_a_decision_without_observation_shows_the_end_of_the_trace() -> None:
    def misses(case):
        yield Decision("there is one more", 1, 2, None)

    checks = [Check(clause="ORD-001", decide=misses)]
    found = shown("ORD-001", list(fixed_worlds())[:40], checks)

    assert found is not None
    assert found.around
    assert {each.mark for each in found.around} == {" "}
