"""The words of a subject: what harvesting its source finds, and what it leaves."""

import re
import sys
from pathlib import Path

import pytest

from compat.migration.words import Pattern, Words, harvest, own_sources
from refengine.testing.subject_worlds.named_values import adk_words
from refengine.testing.subject_worlds.words import matching, near_misses


def words_of(*sources: str) -> Words:
    return harvest({str(at): source for at, source in enumerate(sources)})


def test_texts_are_literals_keys_and_parts_of_f_strings() -> None:
    words = words_of('x = "STOP"\ny = {"key": b"bytes"}\nz = f"cut {x} off"')

    assert set(words.texts) == {"STOP", "key", "cut ", " off"}


def test_docstrings_and_annotations_are_no_texts() -> None:
    source = '"""Module."""\ndef f(x: "Note"):\n    """Function."""\ny: "Type" = "a"'

    assert words_of(source).texts == ("a",)


def test_what_is_compared_comes_before_what_is_only_written() -> None:
    words = words_of('log("told")\nif name == "asked" or text.startswith("begin"): ...')

    assert words.texts == ("asked", "begin", "told")


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('x = name.lower() in {"api_key", "7"}', {"api_key", "7", "API_KEY"}),
        ('x = name.casefold() == "stop"', {"stop", "STOP"}),
        ('x = name.strip() == "stop"', {"stop"}),
    ],
)
def test_where_case_counts_for_nothing_a_text_comes_in_the_other_one(
    source: str, texts: set[str]
) -> None:
    assert set(words_of(source).texts) == texts


@pytest.mark.parametrize(
    ("name", "trims", "plain"),
    [
        ("a.py", "x = text.strip()", "x = text.startswith(' a')"),
        ("a.go", "x := strings.TrimSpace(text)", 'x := strings.Cut(text, " ")'),
        ("a.ts", "const x = text.toLowerCase();", "const x = text.slice(1);"),
    ],
)
def test_a_source_that_trims_or_folds_says_so_in_each_language(
    name: str, trims: str, plain: str
) -> None:
    assert harvest({name: trims}).trims
    assert not harvest({name: plain}).trims


def test_what_one_side_holds_comes_before_what_both_hold() -> None:
    words = words_of('X = {"both", "old"}', 'X = {"both", "new"}')

    assert words.texts == ("old", "new", "both")


def test_names_are_texts_that_a_tool_may_be_called() -> None:
    words = words_of(
        'X = {"delete_all", "drop-table", "two words", "é", "fs_*", "user"}'
    )

    assert set(words.names) == {"delete_all", "drop-table", "fs_x"}


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ('re.compile(r"a+")', Pattern("a+")),
        ('re.sub("a+" "b", "", x)', Pattern("a+b")),
        ('re.search("a", x, flags=re.I | re.MULTILINE)', Pattern("a", 10)),
        ('P = "a|b"\nre.compile(P, re.S)', Pattern("a|b", 16)),
        ('PATTERNS = [r"\\d{3}"]', Pattern(r"\d{3}")),
        ('re.match(pattern="[ab]", string=x)', Pattern("[ab]")),
    ],
)
def test_patterns_are_found_with_their_flags(source: str, pattern: Pattern) -> None:
    assert words_of(source).patterns == (pattern,)


def test_what_does_not_compile_is_no_pattern() -> None:
    assert words_of('x = r"(("\ny = x.split("|")').patterns == ()


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("x = 4 * 1024", (4096,)),
        ("x = 1 << 12", (4096,)),
        ("x[-3:]", (3,)),
        ("x > 2.5", (2, 3)),
        ("x = True", ()),
        ("x = 10 ** 100", (10, 100)),
    ],
)
def test_numbers_are_worked_out(source: str, numbers: tuple[int, ...]) -> None:
    assert words_of(source).numbers == numbers


def test_products_reach_a_threshold_on_a_quotient() -> None:
    words = words_of("PER = 4\nif len(text) // PER > 1000: ...")

    assert {4000, 4004} <= set(words.numbers)


def test_a_source_that_does_not_parse_has_no_words() -> None:
    assert words_of("def (:", "\0") == Words()


def test_own_sources_are_the_modules_that_stand_beside_and_in_the_package(
    tmp_path: Path,
) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/old.py": "import json, helpers\nfrom .rules import A\nfrom .. import no",
        "pkg/rules.py": "def f():\n    from pkg.deep import inner",
        "pkg/deep/__init__.py": "",
        "pkg/deep/inner.py": "import re, refengine",
        "pkg/helpers.py": "",
        "pkg/other.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    found = own_sources(tmp_path / "pkg" / "old.py")

    assert set(found) == files.keys() - {"pkg/other.py"}
    assert next(iter(found)) == "pkg/old.py"


def test_harvesting_imports_nothing(tmp_path: Path) -> None:
    path = tmp_path / "loud.py"
    path.write_text("raise SystemExit(1)", "utf-8")
    harvest(own_sources(path))

    assert "loud" not in sys.modules


PATTERNS = [
    r"\b[A-Z]{4}-\d{2,4}\b",
    r"(?i)bearer\s+([\w.-]+)",
    r"sk-[a-zA-Z0-9]{20,}",
    r"^(?:rm|del)\s+-(r|f)+$",
    r"(?<=key=)[^\s\"]+",
    r"(a|b)\1(?!c)",
    r"(?P<q>['\"]).*?(?P=q)",
    r"\d{1,3}(?:\.\d{1,3}){3}",
    "(?=.*x)y?",
]


@pytest.mark.parametrize("regex", PATTERNS)
def test_patterns_are_met_and_nearly_met(regex: str) -> None:
    pattern = Pattern(regex)

    assert matching(pattern)
    assert all(re.search(regex, text) for text in matching(pattern))
    assert near_misses(pattern)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[A-Z]{3}", "[A-Y]{3}"),
        ("[A-Z]{3}", "[A-MO-Z]{3}"),
        ("a{13,16}", "a{13,19}"),
        ("a{2}b", "a{3}b"),
        (r"\d", "[0-9]"),
        (r"\w+", "[A-Za-z0-9_]+"),
        ("x[^a]", "x[^ab]"),
        ("one|two|six", "one|two"),
    ],
)
def test_what_one_of_two_patterns_matches_is_met(old: str, new: str) -> None:
    both = Pattern(old), Pattern(new)
    made = [text for p in both for text in (*matching(p), *near_misses(p))]
    found = [[each.span() for each in re.finditer(old, text)] for text in made]
    others = [[each.span() for each in re.finditer(new, text)] for text in made]

    assert found != others


@pytest.mark.parametrize("line", ['SUM = "sum"', 'SUM: Final = "user:sum"'])
def test_sessions_of_adk_begin_with_a_state_key_that_a_constant_names(line) -> None:
    found = adk_words([f"{line}\ndef hook(state):\n    return state.get(SUM, 0)\n"])

    assert [(each.name, each.values) for each in found.options] == [
        (line.split('"')[1], (0, 1))
    ]


@pytest.mark.parametrize(
    "body",
    [
        "since = state.get('since')\n    return now - since",
        "since = state['since']\n    return since * 2",
        (
            "if (since := state.get('since')) is None:\n        return None\n"
            "    return now // since"
        ),
        "return now - state['since']",
        "now -= state.get('since')",
    ],
)
def test_a_state_key_that_is_reckoned_with_begins_as_a_number(body: str) -> None:
    found = adk_words([f"def hook(state, now):\n    {body}\n"])

    (option,) = found.options
    assert option.name == "since"
    assert {type(each) for each in option.values} == {int}


def test_a_state_key_that_is_joined_to_a_text_begins_as_texts_too() -> None:
    found = adk_words(["def hook(state):\n    return 'hi ' + state['name']\n"])

    (option,) = found.options

    assert "a" in option.values
