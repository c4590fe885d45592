"""Whoever ends a command while worlds are drawn is heard, whatever then runs."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st

from property_tests.drawing import drawn


@pytest.fixture
def ended_while_garbage_is_collected() -> Iterator[list[int]]:
    """Have the first collection be interrupted; yield what is drawn meanwhile.

    None starts by itself: one between the fixture and the test would be the first.
    """
    left = [signal.SIGINT]

    def collected(phase: str, _: object) -> None:
        if left and phase == "start":
            signal.raise_signal(left.pop())

    seen: list[int] = []
    gc.disable()
    gc.callbacks.append(collected)
    yield seen
    gc.callbacks.remove(collected)
    gc.enable()


def test_ctrl_c_while_garbage_is_collected_is_heard(
    ended_while_garbage_is_collected: list[int],
) -> None:
    def collects(number: int) -> int:
        gc.collect()
        ended_while_garbage_is_collected.append(number)
        return number

    with pytest.raises(KeyboardInterrupt):
        drawn(st.integers().map(collects), 50, 1)

    assert len(ended_while_garbage_is_collected) < 50


def test_handlers_are_those_that_were_there_once_all_is_drawn() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    assert len(drawn(st.integers(), 5, 1)) == 5

    after = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    assert after == before
