"""Two recordings of one session: what was drawn anew, and what else differs."""

import json

import pytest

from compat.wire.comparing import compare
from compat.wire.exchanges import Exchange, Request, Response

JSON = {"content-type": ("application/json",)}
IDS = ("501110d6-ef83-4fb8-b80b-6fb94c92ec2d", "282b3c91-1552-4e67-a359-abe37aaaea40")


def recorded(*bodies, url="http://127.0.0.1:9441/v1/chat/completions"):
    """Return exchanges whose requests have these bodies."""
    return [
        Exchange(
            Request("POST", url, JSON, json.dumps(body).encode()),
            Response(200, "OK", JSON, b"{}"),
        )
        for body in bodies
    ]


def asked(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def test_an_id_that_is_drawn_anew_is_proposed_once_and_leaves_the_rest_equal() -> None:
    sides = [
        recorded(*(asked(t, metadata={"trace_id": f"{each[:-1]}{n}"})
                   for n, t in enumerate(("one", "two"))))
        for each in IDS
    ]  # fmt: skip

    found = compare(*sides)

    [field] = found.fields
    assert (field.path, field.requests) == ("body.json.metadata.trace_id", 2)
    assert (found.pairs, found.alone, found.unequal) == (2, (0, 0), 0)
    assert (found.proposed, found.alike) == (("trace_id",), True)


@pytest.mark.parametrize(
    ("one", "other", "looks"),
    [
        (*IDS, "id"),
        ("run_0123456789ab", "run_ba9876543210", "id"),
        ("2026-11-29", "2026-11-30", "time"),
        ("2026-11-29T10:00:00Z", "2026-11-30T10:00:00.125+01:00", "time"),
        (1_780_000_000, 1_790_000_000, "time"),
        (1_780_000_000.5, 1_790_000_000_000, "time"),
        ("Today is 2026-11-29.", "Today is 2026-11-30.", "text"),
        (f"Ticket {IDS[0]} is open", f"Ticket {IDS[1]} is open", "text"),
        ("one", "two", ""),
        (1, 2, ""),
        (True, False, ""),
        (1, "1", ""),
    ],
)
def test_how_a_value_looks_says_whether_it_may_be_left_out(one, other, looks) -> None:
    found = compare(*(recorded({"a": [each]}) for each in (one, other)))

    [field] = found.fields
    assert (field.path, field.looks) == ("body.json.a[*]", looks)
    assert found.proposed == (() if looks in {"", "text"} else ("a",))
    assert found.alike is bool(found.proposed)


def test_an_id_that_only_one_side_has_is_a_difference() -> None:
    found = compare(recorded({"a": IDS[0]}), recorded({}))

    assert found.fields[0].values == (json.dumps(IDS[0]), "(nothing)")
    assert not found.alike


def test_arguments_are_looked_into_and_another_text_stays_a_difference() -> None:
    sides = [
        recorded({"calls": [{"arguments": json.dumps({"at": each, "city": city})}]})
        for each, city in zip(IDS, ("Oslo", "Rome"), strict=True)
    ]

    found = compare(*sides)

    assert [each.path for each in found.fields] == [
        "body.json.calls[*].arguments.at",
        "body.json.calls[*].arguments.city",
    ]
    assert (found.proposed, found.unequal) == (("at",), 1)


def test_requests_at_one_time_are_compared_whatever_order_they_came_in() -> None:
    texts = ("a", "b", "c")
    sides = [
        recorded(*(asked(t, id=each) for t in order))
        for each, order in zip(IDS, (texts, texts[::-1]), strict=True)
    ]

    found = compare(*sides)

    assert found.alike
    assert found.proposed == ("id",)


def test_origins_are_not_compared_and_queries_are() -> None:
    one = recorded({}, url="http://127.0.0.1:9441/v1/chat?at=2026-11-29")
    other = recorded({}, url="https://api.example.com/v1/chat?at=2026-11-30")

    found = compare(one, other)

    assert [each.path for each in found.fields] == ["url.query.at[*]"]
    assert found.proposed == ("at",)
    assert found.alike


def test_an_id_in_a_path_is_told_and_no_option_is_proposed_for_it() -> None:
    sides = (recorded({}, url=f"http://a/v1/threads/{each}") for each in IDS)

    found = compare(*sides)

    assert found.proposed == ()
    assert not found.alike


def test_what_stands_in_one_alone_is_counted() -> None:
    found = compare(recorded(asked("a"), asked("b")), recorded(asked("b")))

    assert (found.pairs, found.alone, found.fields) == (1, (1, 0), ())
    assert not found.alike


def test_fields_that_are_named_already_are_left_out() -> None:
    found = compare(*(recorded({"a": each}) for each in IDS), ("a",))

    assert (found.fields, found.proposed, found.alike) == ((), (), True)


def test_a_secret_that_differs_is_not_told() -> None:
    sides = (recorded({"api_key": f"sk-{each}"}) for each in IDS)

    assert compare(*sides).fields == ()
