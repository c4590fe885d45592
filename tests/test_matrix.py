"""The matrix: which clauses kill which mutant, and what makes it red."""

import asyncio
import json
from dataclasses import replace
from typing import get_args

import pytest

from compat.cli import mutant as mutant_command
from compat.cli.main import main
from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld, SuiteCorpus
from property_tests.dialects.dialects import dialects
from property_tests.explaining import examples
from property_tests.judging import inputs
from property_tests.judging.inputs import MadeCorpus
from property_tests.matrix import (
    ERROR,
    Killing,
    Kills,
    Matrix,
    Search,
    matrix,
    names,
    unknown_names,
)
from property_tests.mutants import MUTANTS, Mutant, mutant
from property_tests.registry import read_contract
from property_tests.variants import AGAIN
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario

WORLD = CorpusWorld(
    read_scenario(
        {
            "agent": {"handlers": [{"before_model": []}, {"before_model": []}]},
            "model_script": ["assistant:done"],
            "runs": [{"input": ["user:hi"]}],
        }
    ),
    "order",
    fixed=True,
    clause="ORD-001",
)
REVERSED = mutant("pipelines-reversed")
RIGHT = replace(REVERSED, id="right", wrong=ReferenceEngine)
ORDER = [each for each in CHECKS if each.clause == "ORD-001"]


def kills(broken: Mutant, worlds, checks, **more) -> Kills:
    return Killing(worlds, checks, **more).kills(broken)


def red(case: PlayedWorld):
    yield Decision("something", 1, 2, case.played.trace[0])


def check(clause: str, decide=red, **more) -> Check:
    return Check(clause=clause, decide=decide, **more)


def read_off(**kills_of: tuple[str, ...]) -> Matrix:
    """Return a matrix of mutants that all name ORD-001, killed by these."""
    found = tuple(Kills(name, by) for name, by in kills_of.items())
    return Matrix(("ORD-001",), dict.fromkeys(kills_of, ("ORD-001",)), found)


def test_a_mutant_is_killed_by_the_clause_it_names_and_the_right_engine_is_not() -> (
    None
):
    assert kills(REVERSED, [WORLD], ORDER) == Kills("pipelines-reversed", ("ORD-001",))
    assert kills(RIGHT, [WORLD], ORDER) == Kills("right", ())


def test_a_check_that_killed_is_not_asked_again() -> None:
    asked: list[PlayedWorld] = []

    def once(case: PlayedWorld):
        asked.append(case)
        yield Decision("something", 1, 2)

    found = kills(REVERSED, [WORLD] * 3, [check("ORD-009", once)])
    assert (found.by, len(asked)) == (("ORD-009",), 1)


def test_killers_come_in_the_order_of_the_checks() -> None:
    second, first = CorpusWorld(WORLD.scenario, "b", fixed=True, only=("RD",)), WORLD
    checks = [check("RD-001"), check("ORD-009")]
    broken = replace(REVERSED, violates=("RD-001",))

    assert kills(broken, [first, second], checks).by == ("RD-001", "ORD-009")


def counting(asked: list[PlayedWorld], clause: str = "ORD-009", **more) -> Check:
    """Return a check that never fails, and notes what it was asked about."""

    def decide(case: PlayedWorld):
        asked.append(case)
        yield Decision("something", 1, 1)

    return check(clause, decide, **more)


def test_a_check_is_not_asked_where_all_is_as_on_the_right_engine() -> None:
    asked: list[PlayedWorld] = []
    kills(RIGHT, [WORLD], [counting(asked), counting(asked, variants=(AGAIN,))])

    assert asked == []


class Forgetful:
    """An engine that builds a right agent, and from then on reversed ones."""

    def __init__(self, profile) -> None:
        self._engines = [REVERSED.wrong(profile), ReferenceEngine(profile)]
        self.name = "forgetful"

    async def build(self, config, on_notice):
        engine = self._engines.pop() if len(self._engines) > 1 else self._engines[0]
        return await engine.build(config, on_notice)


def test_a_check_is_asked_where_only_a_variant_is_wrong() -> None:
    asked: list[PlayedWorld] = []
    broken = replace(REVERSED, wrong=Forgetful)
    plain, again = counting([], "ORD-008"), counting(asked, variants=(AGAIN,))

    kills(broken, [WORLD], [plain, again])
    assert len(asked) == 1
    assert asked[0].has(AGAIN)


@pytest.mark.parametrize(
    ("violates", "clause", "of", "search", "asked_of"),
    [
        ("ORD-001", "ORD-009", "RD-001", "fixed", 1),
        ("ORD-001", "RD-009", "ORD-001", "fixed", 1),
        ("ORD", "RD-009", "ORD-001", "fixed", 1),
        ("TOOL-001", "ORD-009", "RD-001", "fixed", 0),
        ("TOOL-001", "ORD-009", "RD-001", "full", 1),
    ],
)
def test_variants_are_compared_near_what_a_mutant_violates(
    violates, clause, of, search, asked_of
) -> None:
    asked: list[PlayedWorld] = []
    broken = replace(REVERSED, violates=(violates,))
    world = replace(WORLD, clause=of)

    once_more = counting(asked, clause, variants=(AGAIN,))
    kills(broken, [world], [once_more], search=search)
    assert len(asked) == asked_of


@pytest.mark.parametrize(
    ("violates", "search", "asked_of"),
    [
        (("ORD-001",), "fixed", 1),
        (("ORD",), "fixed", 1),
        (("ORD-001", "ORD-002"), "fixed", 2),
        (("RD",), "fixed", 2),
        (("ORD-001",), "full", 2),
        (("ORD-001",), "proof", 0),
        (("RD-001",), "proof", 2),
    ],
)
def test_generated_worlds_are_for_mutants_that_the_fixed_ones_do_not_prove(
    violates, search, asked_of
) -> None:
    asked: list[PlayedWorld] = []
    broken = replace(REVERSED, violates=violates)
    worlds = [replace(WORLD, fixed=False), WORLD]

    kills(broken, worlds, [*ORDER, counting(asked)], search=search)
    assert len(asked) == asked_of


@pytest.mark.parametrize(
    ("clause", "by"), [("ORD-001", ("ORD-001",)), ("RD-001", ("ORD-001", "RD-001"))]
)
def test_a_proof_ends_with_the_first_clause_that_is_named(clause, by) -> None:
    """In a case of that clause nothing else is asked, in one of another all is."""
    after: list[PlayedWorld] = []
    worlds = [replace(WORLD, clause=clause), replace(WORLD, clause="ORD-002")]
    checks = [*ORDER, check("RD-001"), counting(after, "RD-002")]
    found = kills(REVERSED, worlds, checks, search="proof")

    assert found.by == by
    assert len(after) == len(by) - 1


def test_a_proof_goes_on_for_a_clause_that_has_no_other_mutant(monkeypatch) -> None:
    checks = [*ORDER, check("ORD-002"), check("RD-001")]
    monkeypatch.setattr("property_tests.matrix.CHECKS", checks)
    broken = replace(REVERSED, violates=("ORD-001", "ORD-002", "RD"))
    worlds = SuiteCorpus((WORLD, replace(WORLD, clause="ORD-002")), 0)
    of_both = ["ORD-001", "ORD-002"]
    other = replace(REVERSED, id="other", violates=("ORD-002",))

    found = matrix(of_both, [REVERSED, broken, other], worlds, search="proof")
    assert not found.is_red
    assert matrix(["RD-001"], [broken], worlds, search="proof").is_red


def test_a_mutant_that_is_not_proved_is_killed_by_others_as_ever() -> None:
    found = kills(REVERSED, [WORLD], [check("RD-001")], search="proof")

    assert found.by == ("RD-001",)


def test_the_command_knows_each_way_to_search() -> None:
    assert get_args(Search) == mutant_command.SEARCHES


class RaisesAgain:
    """An engine that plays one world and breaks down in the next ones."""

    def __init__(self, profile, error: BaseException) -> None:
        self._right = ReferenceEngine(profile)
        self._error = error
        self._built = 0
        self.name = "raises"

    async def build(self, config, on_notice):
        self._built += 1
        agent = await self._right.build(config, on_notice)
        return agent if self._built == 1 else Raising(self._error)


class Raising:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def run(self, messages, stream, *, options=None):
        raise self._error


def test_an_engine_that_breaks_down_is_killed_by_no_clause() -> None:
    """What a run raises is in the trace; this is what nobody takes for an answer."""
    error = asyncio.CancelledError()
    broken = replace(RIGHT, wrong=lambda under: RaisesAgain(under, error))
    again = check("ORD-009", lambda _: (), variants=(AGAIN,))

    assert kills(broken, [WORLD, WORLD], ORDER).by == (ERROR,)
    assert kills(broken, [WORLD], [again]).by == (ERROR,)


def test_a_check_that_breaks_down_is_a_fault_and_the_others_still_decide() -> None:
    def broken(case: PlayedWorld):
        raise KeyError(case.scenario.runs[0].input[0])
        yield

    found = kills(REVERSED, [WORLD] * 2, [check("ORD-008", broken), check("ORD-009")])
    assert found.by == ("ORD-009",)
    assert found.faults == ("ORD-008: KeyError: 'user:hi'",)


def test_a_world_of_some_families_is_played_for_their_mutants_only() -> None:
    huge = CorpusWorld(WORLD.scenario, "depth", fixed=True, only=("DEEP",))
    checks = [check("DEEP-001"), check("ORD-009")]

    assert kills(REVERSED, [huge], checks).by == ()
    deep = replace(REVERSED, violates=("DEEP-002",))
    assert kills(deep, [huge], checks).by == ("DEEP-001",)


def test_a_clause_without_mutant_is_red() -> None:
    found = Matrix(
        ("ORD-001", "ORD-002"), {"a": ("ORD-001",)}, (Kills("a", ("ORD-001",)),)
    )

    assert found.clauses_without_mutant == ("ORD-002",)
    assert found.is_red


def test_a_clause_that_kills_only_mutants_of_others_is_without_mutant() -> None:
    found = Matrix(
        ("ORD-001", "ORD-002"),
        {"a": ("ORD-001",)},
        (Kills("a", ("ORD-001", "ORD-002")),),
    )

    assert found.clauses_without_mutant == ("ORD-002",)


def test_a_family_names_a_mutant_s_killers_but_proves_no_clause() -> None:
    found = Matrix(("ORD-001",), {"a": ("ORD",)}, (Kills("a", ("ORD-001",)),))

    assert found.by_named == ("a",)
    assert found.clauses_without_mutant == ("ORD-001",)


@pytest.mark.parametrize("by", [("ORD-002",), (ERROR,), ("RD-001", ERROR)])
def test_a_mutant_killed_by_others_only_is_red(by) -> None:
    found = read_off(a=("ORD-001",), b=by)

    assert found.by_others_only == ("b",)
    assert not found.clauses_without_mutant
    assert found.is_red


def test_a_mutant_that_nothing_kills_is_red() -> None:
    found = read_off(a=("ORD-001",), b=())

    assert (found.silent, found.by_others_only) == (("b",), ())
    assert found.is_red


def test_a_matrix_in_which_all_is_matched_is_not_red() -> None:
    found = read_off(a=("ORD-001",), b=("ORD-001", ERROR))

    assert not found.is_red
    assert found.as_json() == {
        "mutants": 2,
        "killed_by_named": 2,
        "clauses_without_mutant": [],
        "by_others_only": [],
        "silent": [],
        "killed": {"a": ["ORD-001"], "b": ["ORD-001", "error"]},
        "faults": [],
    }


@pytest.mark.parametrize(
    ("violates", "clause", "named"),
    [
        (("RD-001",), "RD-001", True),
        (("RD",), "RD-001", True),
        (("RD-001",), "RD-002", False),
        (("ORD",), "RD-001", False),
        ((), "RD-001", False),
        (("RD", "error"), ERROR, True),
    ],
)
def test_a_clause_is_named_by_id_or_family(violates, clause, named) -> None:
    assert names(violates, clause) is named


def test_a_mutant_that_names_what_is_not_there_is_told() -> None:
    none = read_contract('version = "0.1"', "a file")
    broken = replace(RIGHT, violates=("ORD", "ORD-999"))

    assert unknown_names(none, [broken]) == (
        "right violates ORD-999, which is not a clause",
    )


def test_more_processes_answer_the_same() -> None:
    some = [REVERSED, *MUTANTS[:3]]
    worlds = SuiteCorpus((WORLD,), 0)

    assert matrix(["ORD-001"], some, worlds, jobs=2) == matrix(
        ["ORD-001"], some, worlds
    )


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["mutant", *arguments])
    code = left.value.code
    assert isinstance(code, int)
    return code


def small(monkeypatch, *worlds: CorpusWorld) -> None:
    """Give the command a corpus of these worlds."""
    made = MadeCorpus(SuiteCorpus(worlds, 0), ("so it was made",))
    monkeypatch.setattr(inputs, "make_corpus", lambda *_: made)


def test_command_writes_the_matrix_of_some_clauses(
    tmp_path, monkeypatch, capsys
) -> None:
    small(monkeypatch, *examples("ORD-001"))
    file = tmp_path / "matrix.json"
    code = run("matrix", "-k", "ORD-001", "-j", "1", "--json", str(file))

    written = json.loads(file.read_text("utf-8"))
    assert (code, written["clauses_without_mutant"]) == (0, [])
    assert "ORD-001" in written["killed"]["pipelines-reversed"]
    assert "mutants are killed by a clause they name" in capsys.readouterr().out


def test_command_is_red_for_a_clause_without_mutant(monkeypatch, capsys) -> None:
    other = Mutant(id="other", about="It is right.", violates=(), wrong=ReferenceEngine)
    monkeypatch.setattr(
        mutant_command, "_chosen", lambda *_: (["ORD-001"], [REVERSED, other])
    )
    small(monkeypatch)

    assert run("matrix", "-j", "1") == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "clauses that kill no mutant naming them: ORD-001" in told
    assert "that nothing kills: pipelines-reversed, other" in told


@pytest.mark.parametrize(
    ("found", "stale", "code"),
    [
        (read_off(a=("ORD-001",)), [], 0),
        (read_off(a=("ORD-002",)), [], 1),
        (read_off(a=("ORD-002",)), ["x"], 1),
        (read_off(a=("ORD-001",)), ["x"], 5),
        (read_off(), [], 4),
        (Matrix((), {"a": ()}, (Kills("a", (), ("a check",)),)), [], 3),
    ],
)
def test_exit_code_tells_what_is_wrong(found, stale, code) -> None:
    assert mutant_command._code(found, stale) == code


def test_command_tells_an_unknown_clause(capsys) -> None:
    assert run("matrix", "-k", "ODR") == 2
    assert "no clause matches 'ODR'; did you mean ORD" in capsys.readouterr().err


def test_command_says_how_its_corpus_was_made(monkeypatch, capsys) -> None:
    small(monkeypatch, WORLD)
    run("matrix", "-k", "ORD-001", "-j", "1")

    told = capsys.readouterr().out
    assert "so it was made" in told
    assert ", 1 world\n" in told


def test_command_tells_a_file_it_cannot_write_before_it_plays(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(inputs, "make_corpus", None)
    file = tmp_path / "none" / "x.json"

    assert run("matrix", "--json", str(file)) == 2
    assert "does not exist: make it first" in capsys.readouterr().err


def test_list_shows_every_mutant(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("list") == 0

    told = capsys.readouterr().out
    assert all(each.id in told for each in MUTANTS)
    count = len(MUTANTS) + sum(len(each.mutants) for each in dialects())
    assert f"{count} mutants" in told


def test_list_shows_the_mutants_of_a_clause(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("list", "-k", "ORD-001") == 0

    assert "Every pipeline calls the last hook first." in capsys.readouterr().out
