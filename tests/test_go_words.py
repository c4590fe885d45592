"""What a source in Go holds of words, which worlds of its checks are made of."""

import re

import pytest

from compat.migration.words import harvest
from refengine.testing.subject_worlds.code_tokens import (
    adk_go_words,
    go_words,
    is_adk_go,
)
from refengine.testing.subject_worlds.words import Pattern

GUARD = """
// Package guard refuses "tools" that nobody may use.
package guard

import (
	"context"
	"slices"
)

import "regexp"

var refused = []string{"delete_all", `wipe`}

const most = 12

var mail = regexp.MustCompile(`[a-z]+@\\w+\\z`)

type call struct {
	Name string `json:"name"`
}

func may(name, said string) string {
	/* "not this" */
	if name == "search" || strings.HasPrefix(said, "SECRET ") || len(said) > 1_000 {
		return "no\\n"
	}
	switch name {
	case "fetch", "read":
		return string('x') + fmt.Sprint(len(said)/4)
	}
	return ""
}
"""


def test_texts_of_a_source_in_go_are_its_words_and_imports_comments_and_tags_none() -> (
    None
):
    found = go_words(GUARD)

    assert found.texts == {
        "delete_all": 1,
        "wipe": 1,
        r"[a-z]+@\w+\z": 1,
        "search": 0,
        "SECRET ": 0,
        "no\n": 2,
        "fetch": 0,
        "read": 0,
        "name": 2,
    }


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("var given struct{ Path string }", {"path"}),
        (
            "type a struct {\n\tFirst, Second int\n\tthird string\n}",
            {"first", "second"},
        ),
        (
            'type a struct {\n\tPath string `json:"file_path,omitempty"`\n}',
            {"file_path"},
        ),
        ('type a struct {\n\tNo string `json:"-"`\n}', {"no"}),
        ("type a struct {\n\tIn struct{ Deep []int }\n\tArgs map[string]any\n}", None),
        ("x := struct{A *int; B pkg.T}{}", {"a", "b"}),
        ("func (a A) Path() string {\n\tReturn x\n}", set()),
        ("type a struct {\n\tOpen int", {"open"}),
    ],
)
def test_names_of_fields_are_keys_of_arguments(source: str, names) -> None:
    expected = {"in", "deep", "args"} if names is None else names

    assert set(go_words(source).texts) == expected


def test_numbers_count_most_where_something_is_compared_with_them() -> None:
    found = go_words(GUARD)

    assert found.numbers == {12: 1, 1_000: 0, 4: 2}
    assert (found.divides, found.factors) == (True, {4})


def test_a_regular_expression_is_read_as_python_writes_it() -> None:
    assert go_words(GUARD).patterns == {Pattern(r"[a-z]+@\w+\Z", int(re.ASCII)): 0}


def test_names_of_tools_in_go_are_harvested_as_those_in_python() -> None:
    words = harvest({"0/old.go": GUARD, "1/old.py": "tools = {'wipe', 'look'}"})

    assert {"delete_all", "fetch", "look", "read", "search", "wipe"} <= set(words.names)
    assert "context" not in words.names


@pytest.mark.parametrize(
    "source",
    [
        "",
        "package",
        '"never closed',
        "`never\nclosed",
        "/* never closed",
        "'",
        "{{{(((",
    ],
)
def test_a_source_that_no_compiler_takes_is_read_as_far_as_it_goes(source: str) -> None:
    assert go_words(source).patterns == {}


ADK = """
package refunds

import "google.golang.org/adk/agent/llmagent"

const spent = "refunded"

func desk() {
	clerk := llmagent.Config{Tools: nil, Name: "clerk"}
	own := tool.Config{Name: "refund"}
}

func limit(ctx tool.Context) bool {
	before, _ := ctx.State().Get(spent)
	_ = ctx.State().Set("user:runs", 1)
	_ = ctx.State().Set("temp:now", 1)
	total, _ := before.(float64)
	return total > 100
}
"""


def test_agents_and_keys_of_a_state_are_read_of_a_source_of_adk_go() -> None:
    found = adk_go_words([ADK])

    assert (found.agents, found.adk) == (("clerk",), True)
    assert [each.name for each in found.options] == ["refunded", "user:runs"]
    assert {99, 100, 101, 0, 1} <= set(found.options[0].values)


def test_a_state_that_is_not_counted_begins_with_texts() -> None:
    source = ADK.replace("before.(float64)", "before.(string)").replace(
        "total > 100", 'total == "gold"'
    )

    assert {"gold", ""} <= set(adk_go_words([source]).options[0].values)


def test_only_a_source_that_imports_adk_go_is_one_of_its() -> None:
    assert is_adk_go(ADK)
    assert not is_adk_go(GUARD)
