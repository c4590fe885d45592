"""A history is a tuple in all it does, except that growing it is cheap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refengine.messages import History, Message, as_history

MESSAGES = [Message("user", str(n)) for n in range(6)]
A, B, C, D, E, F = MESSAGES


def test_appending_leaves_the_older_state_as_it_was():
    older = History((A,))
    newer = older.appended(B)

    assert older == [A]
    assert newer == [A, B]


def test_appending_to_the_newest_state_copies_nothing():
    first = History((A,)).appended(B)
    second = first.appended(C)

    assert second._tail is first._tail


def test_appending_twice_to_one_state_gives_two_that_do_not_mix():
    base = History((A,)).appended(B)
    left = base.appended(C)
    right = base.appended(D)
    longer = right.appended(E)

    assert left == [A, B, C]
    assert right == [A, B, D]
    assert longer == [A, B, D, E]
    assert base == [A, B]


def test_putting_a_message_first_leaves_the_rest_shared_and_apart():
    base = History((B,)).appended(C)
    headed = base.after(A)
    base_on, headed_on = base.appended(D), headed.appended(E)

    assert headed == [A, B, C]
    assert base_on == [B, C, D]
    assert headed_on == [A, B, C, E]


def test_a_tuple_is_kept_and_a_list_is_copied():
    fixed = (A, B)
    listed = [A, B]
    kept, copied = History(fixed), History(listed)
    listed.append(C)

    assert kept._fixed is fixed
    assert copied == [A, B]


def test_a_history_is_equal_to_any_sequence_of_equal_messages():
    history = History((A,)).appended(B)

    assert history == (A, B)
    assert history == [A, Message("user", "1")]
    assert history == History([A, B])
    assert (A, B) == history  # noqa: SIM300  # the other side is asked first
    assert history != [A]
    assert history != [B, A]
    assert history != "01"


def test_a_history_has_no_hash_as_a_list_has_none():
    with pytest.raises(TypeError):
        hash(History((A,)))


def test_iterating_sees_the_state_it_began_with():
    history = History((A,)).appended(B)
    walk = iter(history)
    next(walk)
    history.appended(C)

    assert list(walk) == [B]


def test_last_is_none_only_if_there_is_no_message():
    assert History().last() is None
    assert History((A,)).last() is A
    assert History().after(A).last() is A
    assert History((A,)).appended(B).last() is B


def test_without_drops_the_very_object_and_not_an_equal_one():
    twin = Message("user", "0")
    history = History((A, twin, B))

    assert history.without(twin) == (A, B)
    assert history.without(None) == (A, twin, B)


def test_what_a_hook_hands_back_unchanged_is_the_same_object():
    history = History((A,))

    assert as_history(history) is history
    assert as_history([A]) == history


@pytest.mark.parametrize("index", [3, -4, 10**9])
def test_an_index_outside_is_an_error(index):
    history = History((A, B)).appended(C)

    with pytest.raises(IndexError):
        history[index]


some_messages = st.lists(st.sampled_from(MESSAGES), max_size=6)
steps = st.lists(
    st.tuples(
        st.sampled_from(["appended", "after", "add", "radd"]),
        st.integers(0, 100),  # which earlier state it starts from
        st.sampled_from(MESSAGES),
    ),
    max_size=25,
)


@given(some_messages, steps)
def test_every_state_behaves_as_the_tuple_it_stands_for(start, todo):
    states = [(History(start), tuple(start))]
    for step, which, message in todo:
        history, model = states[which % len(states)]
        made = {
            "appended": lambda h=history, m=message: h.appended(m),
            "after": lambda h=history, m=message: h.after(m),
            "add": lambda h=history, m=message: History(h + [m]),  # noqa: RUF005  # + itself
            "radd": lambda h=history, m=message: History([m] + h),  # noqa: RUF005  # + itself
        }[step]()
        before = step in ("after", "radd")
        states.append((made, (message, *model) if before else (*model, message)))
    for history, model in states:
        behaves_as(history, model)


def behaves_as(history, model):
    assert tuple(history) == model
    assert len(history) == len(model)
    assert history == model
    assert history.last() == (model[-1] if model else None)
    assert tuple(reversed(history)) == tuple(reversed(model))
    for at in range(-len(model), len(model)):
        assert history[at] is model[at]
    assert all(message in history for message in model)


@given(some_messages, some_messages, st.slices(8))
def test_a_slice_is_the_tuple_s_slice(fixed, tail, cut):
    history = History(fixed)
    for message in tail:
        history = history.appended(message)

    assert history[cut] == (*fixed, *tail)[cut]


def test_appending_in_place_fails_loudly():
    """A hook that writes ``messages.append(m)`` must not lose the message silently."""
    with pytest.raises(AttributeError):
        History((A,)).append(B)  # type: ignore[attr-defined]  # that is the point


def test_a_slice_can_be_added_to_as_the_whole_can():
    assert History((A, B))[-1:] + [C] == (B, C)  # noqa: RUF005  # + itself
