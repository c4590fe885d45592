"""Values beside each other in a report: cut where they are equal, never where not."""

import pytest

from compat.report.values import beside, both, columns, in_quotes, rows_beside
from refengine.testing.trace import MISSING


def test_short_values_are_shown_whole() -> None:
    assert both({"a": 1}, {"a": True}) == ('{"a": 1}', '{"a": true}')


def test_long_values_are_cut_where_they_are_equal() -> None:
    old, new = both("x" * 500 + "old" + "y" * 500, "x" * 500 + "new" + "y" * 500)

    assert ("old" in old, "new" in new) == (True, True)
    assert len(old) < 150


def test_what_differs_is_not_cut() -> None:
    old, new = both("x" * 500, "x" * 100 + "y" * 300 + "x" * 100)

    assert "y" * 300 in new
    assert "x" * 300 in old


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("user: a ", "user: a", ('"user: a "', '"user: a"')),
        ('{"a": "b\u200b"}', '{"a": "b"}', ('{"a": "b\\u200b"}', '{"a": "b"}')),
        ("caf\u00e9", "cafe\u0301", ('"caf\\u00e9"', '"cafe\\u0301"')),
        ("a\u200bb", "ab", ('"a\\u200bb"', '"ab"')),
        ("a\u00a0b", "a b", ('"a\\u00a0b"', '"a b"')),
        ("\nBe brief.", "Be brief.", ("⏎Be brief.", "Be brief.")),
    ],
)
def test_values_that_look_alike_show_what_differs(old, new, shown) -> None:
    assert beside(old, new) == shown


def test_messages_that_read_alike_show_their_fields() -> None:
    message = {"role": "user", "content": "a"}

    old, new = both(message, {**message, "extra": 1})

    assert '"extra": 1' in new
    assert old != new


def test_names_of_messages_are_shown() -> None:
    message = {"role": "user", "content": "a"}

    assert both({**message, "name": "bob"}, MISSING) == ("user 'bob': a", MISSING)


def test_lines_that_stand_for_each_other_are_cut_alike() -> None:
    rows = [(" ", "s"), ("-", "x" * 400 + "1"), ("+", "x" * 400 + "2"), ("+", "more")]

    shown = [*rows_beside(rows)]

    assert [mark for mark, _ in shown] == [" ", "-", "+", "+"]
    assert shown[1][1] == 'the same 400 characters, then "1"'
    assert shown[2][1] == 'the same 400 characters, then "2"'


def test_what_only_one_side_has_behind_equal_text_stands_behind_its_length() -> None:
    old, new = both("x" * 200 + "[cut]", "x" * 200)

    assert old.endswith('the same 200 characters, then "[cut]"')
    assert new.endswith("only the same 200 characters")


ROWS = [(" ", "s"), ("-", "old"), ("-", "more"), ("+", "new"), ("+", "x"), ("+", "y")]


def test_rows_stand_side_by_side_where_they_fit() -> None:
    assert columns(ROWS, 40) == [
        "s      s",
        "old  | new",
        "more | x",
        "     | y",
    ]


def test_rows_that_do_not_fit_are_not_cut() -> None:
    assert columns(ROWS, 11) != []
    assert columns(ROWS, 10) == []


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("\na", "a", ('"⏎a"', '"a"')),
        ("a ", "a", ('"a "', '"a"')),
        ("a", "b", ('"a"', '"b"')),
    ],
)
def test_texts_stand_in_one_pair_of_quotes(old: str, new: str, shown) -> None:
    assert both(old, new) == in_quotes(old, new) == shown
