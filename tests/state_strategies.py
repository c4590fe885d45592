"""Values and steps of all kinds, for the tests of what lasts; strict equality."""

import string
from datetime import timedelta, timezone

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from refengine.events import AgentAction
from refengine.interrupts import Address, Pending
from refengine.messages import (
    FrozenDict,
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
)
from refengine.resume.checkpoint import (
    GONE,
    Changes,
    Entry,
    Failure,
    Point,
    Splice,
    Start,
    Step,
)
from refengine.state.codec import PHASES, ROLES
from tests.state_samples import Money, Mood, Note

TEXTS = st.text(
    st.one_of(
        st.sampled_from('$[]{}"\\:,\n\x00\ud83d\ude00\ud800é\N{GRINNING FACE}'),
        st.sampled_from(string.ascii_letters),
    ),
    max_size=6,
)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
WHOLE = st.integers(0, 2**63 - 1)
ZONES = st.one_of(
    st.none(),
    st.integers(-1439, 1439).map(lambda n: timezone(timedelta(minutes=n))),
    st.builds(timezone, st.just(timedelta(hours=1)), st.sampled_from(["X", ""])),
)


def names(text):
    """Tell whether a text may be a key: no character is cut in halves."""
    return text == text.encode("utf-16-le", "surrogatepass").decode(
        "utf-16-le", "surrogatepass"
    )


KEYS = TEXTS.filter(names)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.binary(max_size=4),
    st.datetimes(timezones=ZONES),
    st.dates(),
    st.times(timezones=ZONES),
    st.timedeltas(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.uuids(),
    st.sampled_from(Mood),
    st.builds(Money, NUMBERS, TEXTS),
)
HASHABLE = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)
    ),
    max_leaves=6,
)
NOTES = st.builds(Note, TEXTS, st.frozensets(TEXTS, max_size=2), st.sampled_from(Mood))
VALUES = st.recursive(
    st.one_of(HASHABLE, NOTES, st.sets(HASHABLE, max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3).map(FrozenDict),
    ),
    max_leaves=8,
)
EXTRAS = st.dictionaries(KEYS, VALUES, max_size=2)
MAYBE = st.none() | TEXTS
CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)
MESSAGES = st.builds(
    Message, st.sampled_from(sorted(ROLES)), TEXTS, CALLS, MAYBE, MAYBE, MAYBE, EXTRAS
)
PIECES = st.builds(ToolCallChunk, st.none() | st.integers(-1, 9), TEXTS, TEXTS, TEXTS)
CHUNKS = st.builds(
    MessageChunk, TEXTS, st.lists(PIECES, max_size=2).map(tuple), MAYBE, MAYBE, EXTRAS
)


def rows(inner, most=2):
    """Return tuples of what is given."""
    return st.lists(inner, max_size=most).map(tuple)


ADDRESSES = st.builds(
    Address, rows(TEXTS), WHOLE, TEXTS, TEXTS, MAYBE, MAYBE, st.integers(1, 9)
)
PENDING = st.builds(Pending, ADDRESSES, VALUES)
FAILURES = st.builds(Failure, TEXTS, TEXTS, st.integers(-1, 10_000), MAYBE)
ACTIONS = st.builds(
    AgentAction,
    st.booleans(),
    MAYBE,
    st.booleans(),
    st.dictionaries(KEYS, VALUES, max_size=2),
)
CHANGES = st.builds(
    Changes,
    *(MAYBE, MAYBE, MAYBE, MAYBE),
    st.none() | st.tuples(TEXTS, TEXTS),
    st.none() | ACTIONS,
)
ENTRIES = st.recursive(
    st.builds(Entry, TEXTS, TEXTS),
    lambda inner: st.builds(
        Entry,
        TEXTS,
        TEXTS,
        st.booleans(),
        MAYBE,
        st.none() | MESSAGES,
        st.none() | rows(TEXTS | CHUNKS),
        st.none() | FAILURES,
        rows(inner),
        rows(VALUES),
        rows(VALUES),
        st.none() | PENDING,
        st.none() | ACTIONS,
        st.none() | CHANGES,
    ),
    max_leaves=4,
)
SPLICES = st.builds(Splice, WHOLE, rows(MESSAGES))
POINTS = st.builds(
    Point,
    phase=st.sampled_from(sorted(PHASES)),
    at=WHOLE,
    ctx=st.dictionaries(KEYS, VALUES, max_size=2),
    sent=st.none() | SPLICES,
    entries=rows(st.none() | ENTRIES),
    attempt=st.integers(1, 99),
    shown=st.none() | rows(TEXTS),
    told=rows(WHOLE),
    answer=st.none() | MESSAGES,
    status=MAYBE,
    used=rows(ADDRESSES),
)
STARTS = st.builds(Start, TEXTS, TEXTS, st.booleans(), WHOLE, st.booleans())
STEPS = st.builds(
    Step,
    seq=WHOLE,
    iteration=WHOLE,
    splice=SPLICES,
    point=POINTS,
    locals=st.dictionaries(KEYS, st.just(GONE) | VALUES, max_size=3),
    pending=rows(PENDING),
    start=st.none() | STARTS,
)


def searching(examples):
    """Return settings of a search that is the same on every machine, busy or not."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def strictly_equal(one, other):
    """Tell whether two values are equal and of the same types at each depth.

    Independent of what is tested: it looks at the values, never at a tree.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(strictly_equal, one, other))
    if isinstance(one, (dict, FrozenDict)):
        return list(one) == list(other) and strictly_equal(
            list(one.values()), list(other.values())
        )
    if isinstance(one, (set, frozenset)):
        return len(one) == len(other) and all(
            any(strictly_equal(each, its) for its in other) for each in one
        )
    if isinstance(one, Note):
        return strictly_equal(vars(one), vars(other))
    return one == other and repr(one) == repr(other)
