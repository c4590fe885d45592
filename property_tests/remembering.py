"""Reading a trace once: what several checks ask of one view is worked out once.

Nobody changes a view once it is read, nor what is read from it, so every later check is
given the same again. What is kept lives in the view, and goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from property_tests.view import Iteration, View

T = TypeVar("T")
P = ParamSpec("P")


class Rereadable(Generic[T]):
    """What an iterator yields, to be gone through again and again.

    It is asked only for as much as somebody wants to see, and an exception that it ends
    with is raised for everybody who comes so far: each of them sees what an iterator of
    his own would show.
    """

    __slots__ = ("_error", "_rest", "_seen")

    def __init__(self, source: Iterator[T]) -> None:
        self._rest: Iterator[T] | None = source
        self._seen: list[T] = []
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[T]:
        """Begin again."""
        whole = self._rest is None and self._error is None
        return iter(self._seen) if whole else self._from_the_first()

    def _from_the_first(self) -> Iterator[T]:
        at = 0
        while at < len(self._seen) or self._fetch():
            yield self._seen[at]
            at += 1
        if self._error is not None:
            raise self._error

    def _fetch(self) -> bool:
        """Take one more from the source; False if there is none."""
        if self._rest is None:
            return False
        try:
            self._seen.append(next(self._rest))
        except StopIteration:
            self._rest = None
            return False
        except BaseException as error:  # noqa: BLE001  # raised for all who come so far
            self._rest, self._error = None, error
            return False
        return True


def each_once(
    read: Callable[Concatenate[View, P], Iterator[T]],
) -> Callable[Concatenate[View, P], Iterator[T]]:
    """Let a reading of a view that yields be done once a view and arguments."""

    @wraps(read)
    def again(view: View, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        key = (read, *args, *kwargs.items())
        found = cast("Rereadable[T] | None", view.read.get(key))
        if found is None:
            found = view.read[key] = Rereadable(read(view, *args, **kwargs))
        return iter(found)

    return again


def kept_in(now: Iteration, key: object, read: Callable[[], T]) -> T:
    """Return what is read of an iteration, under a key of its own; read once."""
    found: Any = now.read.get(key, now)
    if found is now:
        found = now.read[key] = read()
    return cast("T", found)


def once(read: Callable[[View], T]) -> Callable[[View], T]:
    """Let a reading of a view be done once; one that raises is done again."""

    @wraps(read)
    def again(view: View) -> T:
        found: Any = view.read.get(read, view)
        if found is view:
            found = view.read[read] = read(view)
        return cast("T", found)

    return again
