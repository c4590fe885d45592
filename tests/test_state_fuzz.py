"""Data that nobody wrote ends in a documented error, or in a step that comes back."""

import inspect
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refengine.state import errors as state_errors
from refengine.state.errors import StateError
from tests.state_strategies import TEXTS, searching
from tools.state import fuzz
from tools.state.fuzz import (
    DOCUMENTED,
    FuzzTally,
    faults,
    main,
    outcome,
    records,
    search,
)
from tools.state.mutating import WAYS, resealed
from tools.state.samples import sample_types

RECORDS = records()
TYPES = sample_types()
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(WAYS)), st.integers(0, 2**32))
@searching(120)
def test_changed_record_ends_as_documented(way, seed) -> None:
    if way in {"bomb", "chained"} and seed % 16:
        way = "forged"
    random = Random(seed)  # noqa: S311  # an input has to be repeatable
    record = WAYS[way][0](random, RECORDS)

    assert outcome(record, TYPES)


PARTS = ("splice", "point", "locals", "pending", "start", "seq")


@given(JSON, st.sampled_from(PARTS))
@searching(100)
def test_any_json_in_a_record_ends_as_documented(tree, key) -> None:
    body = {"seq": 0, "iteration": 0, "point": {"phase": "end"}, key: tree}

    assert outcome(resealed(body), TYPES)


@given(st.binary(max_size=60))
@searching(100)
def test_any_bytes_end_as_documented(data) -> None:
    assert outcome(data, TYPES) != "decoded"
    assert outcome(RECORDS[0] + data, TYPES) == (
        "decoded" if not data else "BadCheckpointError"
    )


def test_documented_errors_are_all_that_reading_has() -> None:
    """Whoever adds one to the tree adds it to what a search takes as documented."""
    made = {
        value
        for value in vars(state_errors).values()
        if inspect.isclass(value) and issubclass(value, StateError)
    }

    assert set(DOCUMENTED) == made - {StateError}


def test_search_meets_every_way_and_every_error_and_imports_nothing() -> None:
    found = search(Random(2), range(6_000), RECORDS[1:4])  # noqa: S311  # as above

    assert {way for way, _ in found.outcomes} == set(WAYS)
    assert {end for _, end in found.outcomes} >= {
        "decoded",
        *(
            error.__name__
            for error in DOCUMENTED
            if error.__name__ != "UnknownCodecError"
        ),
    }
    assert faults(found) == []


def test_search_is_the_same_again() -> None:
    def again() -> FuzzTally:
        return search(Random(3), range(500), RECORDS[-1:])  # noqa: S311  # as above

    assert again().outcomes == again().outcomes


def test_command_prints_how_many_ended_how(capsys) -> None:
    assert main(["--inputs", "50"]) == 0

    out = capsys.readouterr().out
    assert "TruncatedCheckpointError" in out
    assert "inputs                           50" in out


def test_undocumented_error_stops_the_search(monkeypatch) -> None:
    def broken(*_):
        raise KeyError("seq")

    monkeypatch.setattr(fuzz, "decode_step", broken)

    with pytest.raises(KeyError):
        outcome(RECORDS[0], TYPES)


def test_step_that_comes_back_changed_stops_the_search(monkeypatch) -> None:
    written = iter([b"one", b"other"])
    monkeypatch.setattr(fuzz, "decode_step", lambda *_: None)
    monkeypatch.setattr(fuzz, "encode_step", lambda *_, **__: next(written))

    with pytest.raises(AssertionError):
        outcome(RECORDS[0], TYPES)


def test_what_a_search_must_not_see_is_told() -> None:
    found = fuzz.FuzzTally(longest=99.0, largest=2**40, imported={"antigravity"})

    assert [text.split(":")[0] for text in faults(found)] == [
        "modules were imported",
        "one input took 99.0 s",
        "one input took 1,099,511,627,776 bytes",
    ]
