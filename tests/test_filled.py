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


ASKED = """
def subject(answer):
    {asks}
        {leaves}
    {then}
    for call in {over}:
        print(call)
"""


@pytest.mark.parametrize(
    ("asks", "leaves", "then", "over"),
    [
        ("if not answer.calls:", "return 1", "pass", "answer.calls"),
        ("if not answer.calls:", "raise ValueError", "pass", "reversed(answer.calls)"),
        ("if answer is None or not answer.calls:", "return 1", "a = 1", "answer.calls"),
        ("if answer.calls:\n        pass\n    else:", "return 1", "pass", "others"),
    ],
)
def test_a_loop_behind_the_question_is_passed_by_unless_it_asks_of_it(
    asks: str, leaves: str, then: str, over: str
) -> None:
    text = ASKED.format(asks=asks, leaves=leaves, then=then, over=over)
    probes = Probes(0)
    probes.visit(ast.parse(text))
    past = any(each.endswith(": not entered") for _, each in probes.arms)

    assert past == (over == "others")


@pytest.mark.parametrize(
    ("asks", "leaves", "then"),
    [
        ("if not answer.calls:", "print(1)", "pass"),
        ("if not answer.calls:", "return 1", "answer.calls = []"),
        ("if not answer.calls:", "return 1", "answer = other"),
        ("if not answer.calls:", "return 1", "answer.calls.pop()"),
        ("if not answer.calls and other:", "return 1", "pass"),
        ("if answer.calls:", "return 1", "pass"),
    ],
)
def test_what_was_not_asked_or_changed_since_may_be_empty(
    asks: str, leaves: str, then: str
) -> None:
    text = ASKED.format(asks=asks, leaves=leaves, then=then, over="answer.calls")
    probes = Probes(0)
    probes.visit(ast.parse(text))

    assert any(each.endswith(": not entered") for _, each in probes.arms)


def test_a_loop_within_the_question_is_always_entered() -> None:
    text = (
        "def subject(calls):\n    if calls and a:\n        for x in calls: print(x)\n"
    )
    probes = Probes(0)
    probes.visit(ast.parse(text))

    assert not any(each.endswith(": not entered") for _, each in probes.arms)
