"""The registry: the contract as clauses, and the pages that are written from it."""

import re
import shutil
from pathlib import Path

import pytest

from property_tests.all_clauses import with_others
from property_tests.check import Check
from property_tests.checks import CHECKS
from property_tests.corpus import fixed_worlds
from property_tests.dialects.dialects import dialects
from property_tests.matrix import unknown_names
from property_tests.mutants import MUTANTS
from property_tests.registry import (
    FAMILIES,
    FILE,
    Contract,
    ContractError,
    EverythingExcludedError,
    SeedSource,
    UnknownSelectorError,
    contract,
    families,
    read_contract,
    unmatched,
)
from tools.pages import __main__ as command
from tools.pages import contract as contract_page
from tools.pages import seeds as seeds_page
from tools.pages.seeds import read_statements, statements

ROOT = Path(__file__).parent.parent
SEEDS = {path.stem: path.read_text("utf-8") for path in (ROOT / "docs/seeds").iterdir()}


def clause(id_: str = "ORD-001", **changed: object) -> str:
    """Return the TOML of one clause."""
    fields = {
        "id": f'"{id_}"',
        "level": '"MUST"',
        "sentence": '"Hooks run in order."',
        "intent": '"Somebody relies on it."',
        "source": '{ decision = "It has to be one way." }',
        "status": '"checked"',
        **changed,
    }
    lines = "\n".join(f"{key} = {value}" for key, value in fields.items())
    return f"[[clause]]\n{lines}\n"


def made(*clauses: str, more: str = "") -> Contract:
    return read_contract('version = "0.1"\n' + "".join(clauses) + more, "a file")


def decides(id_: str) -> Check:
    return Check(clause=id_, decide=lambda _: ())


def test_every_checked_clause_has_one_check_and_every_check_a_clause() -> None:
    assert unmatched(contract(), CHECKS) == ()


def test_every_checked_clause_has_a_fixed_world() -> None:
    shown = {each.clause for each in fixed_worlds()}

    assert {each.id for each in contract().checked} <= shown


def test_every_fixed_world_is_of_a_clause() -> None:
    assert {each.clause for each in fixed_worlds()} <= set(contract().ids)


def test_every_checked_clause_is_named_by_a_mutant() -> None:
    named = {name for each in MUTANTS for name in each.violates}

    assert {each.id for each in contract().checked} - named == set()


def test_mutants_name_only_what_there_is() -> None:
    assert unknown_names(contract()) == ()


def test_every_quote_of_a_clause_is_in_its_seed() -> None:
    quotes = [
        (each.id, each.source.seed, each.source.quote)
        for each in contract().clauses
        if isinstance(each.source, SeedSource)
    ]

    assert [each for each in quotes if each[2] not in SEEDS[each[1]]] == []


def test_the_version_says_that_sentences_may_still_change() -> None:
    assert contract().version.startswith("0.")
    assert "1.0 is frozen when all seeds are in" in FILE.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (clause("ORD-1"), r"ORD-1, id: .*three digits, as ORD-001"),
        (clause("NEW-001"), r"NEW-001, id: .*one of ORD, INS"),
        (clause(level='"WILL"'), r"ORD-001, level: .*'MUST'"),
        (clause(sentence='"It is. It was."'), r"one sentence"),
        (clause(sentence='"It is"'), r"ends with a full stop"),
        (clause(sentence='"Hooks must run."'), r"without 'must'"),
        (clause(sentence='"Hooks Should run."'), r"without 'Should'"),
        (clause(source='{ seed = "001" }'), r"ORD-001, source"),
        (clause(status='"planned"'), r"ORD-001 is planned, and so says why"),
        (clause(status='"untestable"'), r"untestable, and so says why"),
        (clause(why='"Because."'), r"ORD-001 is checked, and so has no 'why'"),
        (clause(intent='""'), r"ORD-001 has no intent"),
        (clause(postures='["after_hook"]'), r"did you mean 'after_hooks'\?"),
        (clause(intend='"a slip"'), r"ORD-001, intend: Extra inputs"),
        (clause() + clause(), r"ORD-001 is there twice"),
        (clause("ORD-002") + clause(), r"ORD-001 is after ORD-002: ids go up"),
        (clause("INS-001") + clause(), r"ORD-001 is after INS-001"),
        (
            clause() + '[[retired]]\nid = "ORD-001"\nwhy = "It was wrong."\n',
            r"ORD-001 is retired, and not given again",
        ),
        ("[clause", r"is not TOML"),
        ("other = 1", r"other: Extra inputs"),
    ],
)
def test_a_wrong_registry_is_told_with_the_place(text: str, told: str) -> None:
    with pytest.raises(ContractError, match=rf"^a file: .*{told}"):
        made(text)


def test_an_unmatched_clause_or_check_is_told() -> None:
    some = made(
        clause(),
        clause("ORD-002"),
        clause("ORD-003", status='"planned"', why='"Later."'),
    )
    checks = [decides(each) for each in ("ORD-002", "ORD-002", "ORD-003", "ORD-009")]

    assert unmatched(some, checks) == (
        "ORD-001 is checked, but no check decides it",
        "a check decides ORD-009, which is not a clause",
        "a check decides ORD-003, which is planned",
        "2 checks decide ORD-002",
    )


SOME = made(*map(clause, ("ORD-001", "ORD-002", "RD-001", "RD-012", "STR-001")))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ("ORD-001", "ORD-002", "RD-001", "RD-012", "STR-001")),
        (("RD",), ("RD-001", "RD-012")),
        (("rd-0",), ("RD-001", "RD-012")),
        (("01",), ("ORD-001", "RD-001", "RD-012", "STR-001")),
        (("ORD-002",), ("ORD-002",)),
        (("str", "ORD-002"), ("ORD-002", "STR-001")),
        (("ord-001", " RD-012 "), ("ORD-001", "RD-012")),
        (("ORD", "rd-012"), ("ORD-001", "ORD-002", "RD-012")),
    ],
)
def test_selectors_choose_clauses_in_the_order_of_the_contract(words, found) -> None:
    assert tuple(each.id for each in SOME.select(words)) == found


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ODR",), r"no clause matches 'ODR'; did you mean ORD\b"),
        (("ORD-003",), r"'ORD-003'; did you mean ORD-00"),
        (("ORD-1",), r"'ORD-1'; did you mean ORD-001\?"),
        (("ord2",), r"'ord2'; did you mean ORD-002\?"),
        (("RD-0012",), r"'RD-0012'; did you mean RD-012\?"),
        (("STR-1",), r"'STR-1'; did you mean STR-001\?"),
        (("ORD-9",), r"'ORD-9'; did you mean ORD, ORD-00"),
        (("ORD", "QQQQ"), r"'QQQQ'; 'refengine clause list' shows all"),
        (("",), r"no clause matches ''"),
        ((" ",), r"no clause matches ' '"),
    ],
)
def test_a_selector_that_chooses_nothing_is_told(words, told) -> None:
    with pytest.raises(UnknownSelectorError, match=told):
        SOME.select(words)


def test_a_family_where_one_clause_is_meant_leads_to_its_list() -> None:
    with pytest.raises(UnknownSelectorError, match="'refengine clause list --clause"):
        SOME.clause("ORD")


@pytest.mark.parametrize(
    ("words", "without", "found", "counts"),
    [
        ((), ("ord",), ("RD-001", "RD-012", "STR-001"), {"ord": 2}),
        (("ORD",), ("ORD-001",), ("ORD-002",), {"ORD-001": 1}),
        (("ORD",), ("STR",), ("ORD-001", "ORD-002"), {"STR": 0}),
        ((), ("ORD", "001"), ("RD-012",), {"ORD": 2, "001": 3}),
    ],
)
def test_what_is_excluded_is_taken_out_and_counted(
    words, without, found, counts
) -> None:
    left = SOME.select(words, without=without)

    assert tuple(each.id for each in left) == found
    assert SOME.taken_out(words, without) == counts


def test_excluding_an_unknown_name_or_everything_is_refused() -> None:
    with pytest.raises(UnknownSelectorError, match=r"'ODR'; did you mean ORD\b"):
        SOME.select(without=("ODR",))
    with pytest.raises(
        EverythingExcludedError, match=r"nothing is left .* without ORD"
    ):
        SOME.select(("ORD",), without=("ORD",))


def test_families_come_in_their_order_and_without_the_empty_ones() -> None:
    found = [family for family, _ in families(reversed(SOME.clauses))]

    assert found == ["ORD", "RD", "STR"]


def test_pages_of_the_contract_say_what_the_registry_says() -> None:
    made = dict(contract_page.pages(with_others(contract())))
    written = {each: each.read_text("utf-8") for each in made}

    assert written == made
    assert {*contract_page.of_family("ORD").parent.iterdir()} == {*made} - {
        contract_page.PAGE
    }


def test_pages_have_every_clause_once_where_links_lead_and_a_title_each() -> None:
    found = dict(contract_page.pages(contract()))
    shown = {
        (page, name)
        for page, text in found.items()
        for name in re.findall(r"^## (\w+-\d+)$", text, re.MULTILINE)
    }
    text = "\n".join(found.values())

    assert len(re.findall(r"^## \w+-\d+$", text, re.MULTILINE)) == len(contract().ids)
    assert {f"contract/{page.name}#{name.lower()}" for page, name in shown} == {
        contract_page.place(each) for each in contract().ids
    }
    assert tuple(contract_page.TITLES) == FAMILIES


def test_page_names_what_is_retired() -> None:
    retired = '[[retired]]\nid = "ORD-002"\nwhy = "It said the same as ORD-001."\n'

    text = contract_page.page(made(clause(), more=retired))
    assert "- ORD-002: It said the same as ORD-001." in text


def test_page_of_the_seeds_says_what_the_mapping_says() -> None:
    assert seeds_page.PAGE.read_text("utf-8") == seeds_page.page(statements())


def test_pages_are_written_by_one_command(tmp_path, monkeypatch, capsys) -> None:
    made = {
        name: (Path(shutil.copy(page, tmp_path)), text)
        for name, (page, text) in command.PAGES.items()
    }
    monkeypatch.setattr(command, "PAGES", made)
    assert command.main(["contract", "seeds"]) == 0  # and each family's

    assert capsys.readouterr().out.startswith("contract.md: ")
    for name in ("contract.md", "seeds.md", "contract/ord.md"):
        written = (tmp_path / Path(name).name).read_text("utf-8")
        assert written == (ROOT / "docs" / name).read_text("utf-8")


def test_page_that_there_is_not_is_told_with_those_that_there_are(capsys) -> None:
    with pytest.raises(SystemExit):
        command.main(["contracts"])
    assert "give capabilities, " in capsys.readouterr().err


def test_every_statement_quotes_its_seed() -> None:
    assert [e.quote for e in statements() if e.quote not in SEEDS[e.seed]] == []
    assert {each.seed for each in statements()} == set(seeds_page.TITLES)


def test_every_statement_leads_to_clauses_there_are() -> None:
    named = {name for each in statements() for name in each.clauses}

    assert named - set(with_others(contract()).ids) == set()


def test_every_clause_of_a_dialect_is_named_by_the_seed_that_it_quotes() -> None:
    named = {(each.seed, name) for each in statements() for name in each.clauses}
    quoting = {
        (clause.source.seed, clause.id)
        for each in dialects()
        for clause in each.contract.clauses
        if isinstance(clause.source, SeedSource)
    }

    assert quoting
    assert quoting - named == set()


def test_every_statement_is_held_by_tests_there_are() -> None:
    named = {name for each in statements() for name in each.tests}
    files = {name.partition("::")[0] for name in named}
    there = {
        f"{file}::{test}"
        for file in files
        for test in re.findall(
            r"^def (test_\w+)", (ROOT / "tests" / file).read_text("utf-8"), re.MULTILINE
        )
    }

    assert named
    assert named - there == set()


def test_every_mutant_that_a_decision_names_is_there() -> None:
    text = " ".join(each.decision for each in statements())
    named = set(re.findall(r"`((?:sketch|example)-[\w-]+)`", text))

    assert named
    assert named <= {each.id for each in MUTANTS}


def test_every_mutant_of_a_sketch_is_named_by_a_decision() -> None:
    text = " ".join(each.decision for each in statements())

    assert [e.id for e in MUTANTS if not e.is_own and f"`{e.id}`" not in text] == []


def test_every_seed_that_is_kept_is_taken_up() -> None:
    assert set(SEEDS) == set(seeds_page.TITLES)


ONLY_INTRODUCE = 4
"""Sections of seed 000 that say what the next ones are about, or hold a drawing."""


def test_every_section_of_a_seed_is_taken_up() -> None:
    quotes = {(each.seed, each.quote) for each in statements()}
    left_out = [
        (seed, section.partition("\n")[0])
        for seed, text in SEEDS.items()
        for section in re.split(r"^(?=#{1,6} )", text, flags=re.MULTILINE)
        if len(section.partition("\n")[2].strip()) > 3  # more than a line between two
        and not any(of == seed and quote in section for of, quote in quotes)
    ]

    assert [seed for seed, _ in left_out] == ["000"] * ONLY_INTRODUCE, left_out


STATEMENT = '[[statement]]\nseed = "001"\nsection = "§2"\nquote = "a"\nsays = "A."\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STATEMENT, r"statement 1.*has clauses, tests or a decision, or else was not"),
        (
            f'{STATEMENT}clauses = ["ORD-001"]\nnot_taken_up = "No."\n',
            r"has clauses, tests or a decision, or else was not taken up",
        ),
        (f'{STATEMENT}decision = "No."\n' * 2, r"'a' is there twice"),
        (STATEMENT.replace('"a"', '""') + 'decision = "No."', r"has a quote"),
    ],
)
def test_a_wrong_mapping_is_told_with_the_place(text: str, told: str) -> None:
    with pytest.raises(ContractError, match=rf"^a file.*{told}"):
        read_statements(text, "a file")
