"""What a source in TypeScript holds of words, of which worlds are made."""

import re

import pytest

from compat.migration.words import harvest
from refengine.testing.subject_worlds.code_tokens import (
    script_errors,
    script_tools,
    script_words,
)
from refengine.testing.subject_worlds.words import Pattern

GUARD = r"""
// Refuses "tools" that nobody may use.
import { createMiddleware } from "langchain";
import "./side.ts";
export * from './more.ts';

const REFUSED = ["delete_all", 'wipe\u0021'];
export const MOST = 12;
const mail = /^[a-z]+@\w+[/`]$/i;

async function may(name: string, said: string): Promise<string> {
  /* "not this" */
  const { rules } = await import("./rules.ts");
  if (name === "search" || said.startsWith("SECRET ") || said.length > 1_000)
    return 'no\n';
  switch (name) {
    case "fetch": case "read":
      const rest = said.length / 4 / 0x10;
      return `${rest} of ${said ? `"${name}" or ${{ a: "b" }.a}` : ""} left`;
  }
  return mail.test(said) || new RegExp("(?<id>A-\\d+) \\k<id>", "s").test(said);
}
"""


def test_texts_of_a_source_are_its_words_and_imports_and_comments_are_none() -> None:
    found = script_words(GUARD)

    assert found.texts == {
        "delete_all": 1,
        "wipe!": 1,
        "search": 0,
        "SECRET ": 0,
        "no\n": 2,
        "fetch": 0,
        "read": 0,
        " of ": 2,
        '"': 2,
        '" or ': 2,
        "b": 2,
        " left": 2,
        r"(?<id>A-\d+) \k<id>": 2,
        "s": 2,
    }


def test_numbers_count_most_where_something_is_compared_with_them() -> None:
    found = script_words(GUARD)

    assert found.numbers == {12: 1, 1_000: 0, 4: 2, 16: 2}
    assert (found.divides, found.factors) == (True, {4, 16})


def test_regular_expressions_are_read_as_python_writes_them() -> None:
    assert script_words(GUARD).patterns == {
        Pattern(r"^[a-z]+@\w+[/`]$", int(re.IGNORECASE | re.ASCII)): 0,
        Pattern(r"(?P<id>A-\d+) (?P=id)", int(re.DOTALL | re.ASCII)): 0,
    }


@pytest.mark.parametrize(
    ("source", "patterns"),
    [
        ("const half = total / 2 / parts", []),
        ("const share = list[0] / of(all) / 2", []),
        ("return /a/ / 2", ["a"]),
        ("const said = x === /a b/g", ["a b"]),
        ("f(/[/]/, /\\//)", ["[/]", r"\/"]),
        (r"x.match(/[^]\u{1F600}/u)", [r"[\s\S]" + r"\U0001f600"]),
        ("x.match(/\\p{L}/u)", []),
    ],
)
def test_a_slash_divides_behind_a_value_and_begins_a_pattern_elsewhere(
    source: str, patterns: list[str]
) -> None:
    assert [each.regex for each in script_words(source).patterns] == patterns


def test_escapes_stand_for_what_they_are() -> None:
    source = r"""f("\x41\u0042\u{43}\t\'", 'a\
b', "\ud83d\ude00", "\ud83d!", `\`\${}`)"""

    assert [*script_words(source).texts] == [
        "ABC\t'",
        "ab",
        "\U0001f600",
        "\ud83d!",
        "`${}",
    ]


@pytest.mark.parametrize("suffix", ["ts", "mts", "cts", "js", "mjs", "cjs"])
def test_names_of_tools_in_scripts_are_harvested_as_those_in_python(
    suffix: str,
) -> None:
    sources = {f"0/old.{suffix}": GUARD, "1/old.py": "tools = {'wipe', 'look'}"}

    words = harvest(sources)

    assert {"delete_all", "fetch", "look", "read", "search", "wipe"} <= set(words.names)
    assert "langchain" not in words.names


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ("if (error instanceof TimeoutError) again();", ["TimeoutError"]),
        ('if (error.name === "ConnectionError") again();', ["ConnectionError"]),
        ("try { call(); } catch { call(); }", ["Error"]),
        ("toolRetryMiddleware({ maxRetries: 2 })", ["Error"]),
        ("x instanceof Error // and never catch a KeyError", []),
        ('say("an Error, to catch or to retry")', []),
    ],
)
def test_errors_that_a_source_tells_apart_are_those_that_worlds_fail_with(
    source: str, errors: list[str]
) -> None:
    assert [*script_errors(source)] == errors


@pytest.mark.parametrize(
    "source",
    [
        *("", "'never closed", '"\\', "`never\nclosed", "`${", "`a${`${", "`\\", "}}"),
        *("/* never closed", "/", "/[", "/(/", "'\\u{ffffffff}'", "0x", "1e999"),
        "`${" * 1_000,
    ],
    ids=range(16),
)
def test_a_source_that_no_compiler_takes_is_read_as_far_as_it_goes(source: str) -> None:
    assert script_words(source).patterns == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("({ tools: { rates: tool({ execute }) } })", {"rates"}),
        ("({ 'find-orders': dynamicTool({ execute }) })", {"find-orders"}),
        ('tool(() => "found", { name: "look", schema })', {"look"}),
        ('({ tools: [], name: "rates" })', set()),
    ],
)
def test_tools_that_a_source_makes_are_known_by_name(
    source: str, names: set[str]
) -> None:
    assert script_tools(source) == names
