"""A loop over what is never empty has no way past it, so none that a world missed."""

import ast

import pytest

from refengine.testing.probe_syntax import Probes

MODULE = """
from elsewhere import MANY

TRIES = 3
TWO = 1 + 1
NONE = 0
NAMES = ("a", "b")
SECTIONS: dict[str, str] = {{"title": "text"}}
PAIRS = list(zip(NAMES, SECTIONS.values()))
EMPTY = ()
GROWS = ["a"]
TWICE = ("a",)
TWICE = ()

def subject(given, *HIDDEN):
    GROWS.clear()
    for each in {over}:
        print(each)
"""


def passes_by(over: str) -> bool:
    """Tell whether a loop over this has a way that does not enter it."""
    probes = Probes(0)
    probes.visit(ast.parse(MODULE.format(over=over)))
    return any(text.endswith(": not entered") for _, text in probes.arms)


@pytest.mark.parametrize(
    "over",
    [
        *(
            "range(TRIES)",
            "range(TWO)",
            "range(5)",
            "NAMES",
            "enumerate(NAMES, start=1)",
            '"ab"',
        ),
        *("range(1, TRIES)", "range(1, TRIES + 1)", "range(TRIES - 1, -1, -1)"),
        *("SECTIONS.items()", "zip(NAMES, SECTIONS)", "sorted(SECTIONS)", "PAIRS"),
    ],
)
def test_what_is_never_empty_is_always_entered(over: str) -> None:
    assert not passes_by(over)


@pytest.mark.parametrize(
    "over",
    [
        *("range(NONE)", "range(1, given)", "EMPTY", "given", "MANY", "[*given]"),
        *("GROWS", "TWICE", "HIDDEN", "zip(NAMES, given)", "SECTIONS.get('x')", "()"),
        *("range(TRIES, 2 * 1)", "range(0, TRIES, 0)", "range(len(NAMES), 9)"),
    ],
)
def test_what_may_be_empty_is_passed_by_where_it_is(over: str) -> None:
    assert passes_by(over)


@pytest.mark.parametrize(
    "change",
    [
        *("SECTIONS.pop('title')", "del SECTIONS['title']", "forget(SECTIONS)"),
        *("SECTIONS = {}", "global SECTIONS; SECTIONS = given"),
    ],
)
def test_what_the_module_may_change_may_be_empty(change: str) -> None:
    probes = Probes(0)
    text = MODULE.format(over="SECTIONS").replace("GROWS.clear()", change)
    probes.visit(ast.parse(text))

    assert any(each.endswith(": not entered") for _, each in probes.arms)
