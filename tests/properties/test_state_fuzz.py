"""Data that nobody wrote ends in a documented error, or in a step that comes back.

A step that was read is written and read again to an equal one. Nothing is imported
meanwhile, and no input takes much time or memory.
"""

import inspect
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import get_ident

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refengine.state import errors as state_errors
from refengine.state.codec import decode_step, encode_step
from refengine.state.errors import StateError
from refengine.state.values import Types
from tests.properties.support import counted, searching
from tests.state_mutations import WAYS, resealed
from tests.state_samples import WRITER, sample_types, samples
from tests.state_strategies import TEXTS

DOCUMENTED = tuple(
    value
    for value in vars(state_errors).values()
    if inspect.isclass(value)
    and issubclass(value, StateError)
    and value is not StateError
)
"""What reading a checkpoint may raise; no other class, no base of these."""
TYPES, KEEPING = sample_types(), sample_types(keep_unknown=True)
RECORDS = [encode_step(step, TYPES, writer=WRITER) for step in samples().values()]
WEIGHED = st.sampled_from([way for way, (_, n) in WAYS.items() for _ in range(n)])
SEEDS = st.integers(0, 2**32)
MOST_SECONDS = 10.0
MOST_BYTES = 512 * 2**20
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


def outcome(record: bytes, types: Types = TYPES) -> str:
    """Return how reading a record ends: ``decoded``, or the name of an error."""
    try:
        step = decode_step(record, types)
    except DOCUMENTED as error:
        if type(error) not in DOCUMENTED or not str(error).isprintable():
            raise
        return type(error).__name__
    written = encode_step(step, types, writer=WRITER)
    assert encode_step(decode_step(written, types), types, writer=WRITER) == written
    return "decoded"


def made(way: str, seed: int, records: list[bytes]) -> bytes:
    return WAYS[way][0](Random(seed), records)  # noqa: S311  # an input is repeatable


class Imports:
    """Looks for no module, and puts down which ones its thread looks for."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._thread = get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        if get_ident() == self._thread:
            self.names.add(name)


@contextmanager
def nothing_imported() -> Iterator[None]:
    looking = Imports()
    sys.meta_path.insert(0, looking)
    try:
        yield
    finally:
        sys.meta_path.remove(looking)
    assert looking.names == set()


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Load what the decoder itself loads when it is used: no data names that."""
    for types in (TYPES, KEEPING):
        for record in RECORDS:
            for each in (record, record[:-1], resealed({"seq": record.decode()})):
                outcome(each, types)


@searching(400, long=200_000)
@given(WEIGHED, SEEDS, st.sampled_from((TYPES, KEEPING)))
def test_changed_record_ends_as_documented(way, seed, types) -> None:
    record = made(way, seed, RECORDS)
    with nothing_imported():
        began = time.thread_time()
        counted(f"{way}: {outcome(record, types)}")

    assert time.thread_time() - began < MOST_SECONDS


@searching(4)
@given(st.sampled_from(("bomb", "chained")), SEEDS)
def test_record_that_is_large_to_read_takes_little_memory(way, seed) -> None:
    record = made(way, seed, RECORDS)
    tracemalloc.start()
    try:
        with suppress(*DOCUMENTED):
            decode_step(record, TYPES)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("record", RECORDS, ids=samples())
def test_record_that_is_cut_anywhere_ends_as_documented(record) -> None:
    for at in range(len(record)):
        assert outcome(record[:at]) != "decoded"


PARTS = ("splice", "point", "locals", "pending", "start", "seq")


@searching(100)
@given(JSON, st.sampled_from(PARTS))
def test_any_json_in_a_record_ends_as_documented(tree, key) -> None:
    body = {"seq": 0, "iteration": 0, "point": {"phase": "end"}, key: tree}

    assert outcome(resealed(body))


@searching(100)
@given(st.binary(max_size=60))
def test_any_bytes_end_as_documented(data) -> None:
    assert outcome(data) != "decoded"
    assert outcome(RECORDS[0] + data) == (
        "decoded" if not data else "BadCheckpointError"
    )


def test_every_way_and_every_error_is_met() -> None:
    chance = Random(2)  # noqa: S311  # as above
    met: Counter[tuple[str, str]] = Counter()
    for way, (make, often) in WAYS.items():
        for _ in range(often):
            met[way, outcome(make(chance, RECORDS[1:4]))] += 1

    assert {way for way, _ in met} == set(WAYS)
    assert {end for _, end in met} >= {
        "decoded",
        *(e.__name__ for e in DOCUMENTED if e.__name__ != "UnknownCodecError"),
    }
