"""Drawing: values of a Hypothesis strategy, always the same for a seed.

Needs the extra ``testing``. Nothing but the seed and the version of Hypothesis decides
what is drawn: not which modules are loaded, nor where the project is installed.
"""

from __future__ import annotations

import gc
import signal
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, configuration, given, seed, settings
from hypothesis.internal.conjecture.providers import (
    AVAILABLE_PROVIDERS,
    HypothesisProvider,
)
from hypothesis.strategies import SearchStrategy

from refengine.testing.owned import folder_prefix

BACKEND: Final = "refengine-steady"
ENDS: Final = (signal.SIGINT, signal.SIGTERM)
_HOME: Final = "__hypothesis_home_directory"
"""Where Hypothesis notes which folder was set; it has no function that tells it."""

UNCHECKED: Final = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)
"""Worlds are large and take a while to draw, which is no fault of theirs."""

T = TypeVar("T")


class SteadyProvider(HypothesisProvider):
    """Draws as Hypothesis does, but no constants of modules that happen to be loaded.

    With them the same seed gives other worlds in an editable installation than in a
    wheel, and others again once an engine is imported.
    """

    def _maybe_draw_constant(self, *_: object, **__: object) -> None:
        return None


def drawn(values: SearchStrategy[T], count: int, number: int) -> list[T]:
    """Draw so many values of a strategy; what is drawn first is the plainest."""
    found: list[T] = []
    if not count:
        return found

    with _registered(), _nothing_kept(), _heard() as hear:

        @seed(number)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            derandomize=False,
            backend=BACKEND,
            phases=[Phase.generate],
            suppress_health_check=UNCHECKED,
        )
        @given(values)
        def draw(value: T) -> None:
            hear()
            found.append(value)

        draw()
    return found[:count]


@contextmanager
def _heard() -> Generator[Callable[[], None], None, None]:
    """Yield what hears of signals that came while garbage was collected.

    Hypothesis measures that by a callback, and Python drops what is raised in one: once
    in a few times Ctrl-C did nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # only the main thread hears of signals
        return
    found = ((each, signal.getsignal(each)) for each in ENDS)
    before = {each: handler for each, handler in found if handler is not None}
    late: list[int] = []

    def heard(number: int, frame: FrameType | None) -> None:
        if _collects(frame):
            late.append(number)
        else:
            again(number)

    def again(number: int) -> None:
        signal.signal(number, before[signal.Signals(number)])
        signal.raise_signal(number)

    def hear() -> None:
        if late:
            again(late.pop())

    for each in before:
        signal.signal(each, heard)
    try:
        yield hear
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _collects(frame: FrameType | None) -> bool:
    """Tell whether a frame is that of a callback of the garbage collector."""
    codes = {getattr(each, "__code__", None) for each in gc.callbacks}
    while frame is not None:
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


@contextmanager
def _nothing_kept() -> Generator[None, None, None]:
    """Let Hypothesis keep what it looks up in a folder that goes, not in the user's.

    Its own folder is only for its database, which is not used here.
    """
    kept: Any = configuration
    before = getattr(kept, _HOME, None)
    with tempfile.TemporaryDirectory(prefix=folder_prefix()) as folder:
        kept.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            kept.set_hypothesis_home_dir(before)


@contextmanager
def _registered() -> Generator[None, None, None]:
    """Let Hypothesis know our provider for as long as it is used."""
    AVAILABLE_PROVIDERS[BACKEND] = SteadyProvider
    try:
        yield
    finally:
        del AVAILABLE_PROVIDERS[BACKEND]
