"""Why a text names no store that can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from compat.engines.load_errors import LoadError

FORMS: Final = "module:Store or file.py:Store, a class or a function that gives a store"


class NotAStoreReferenceError(LoadError):
    """The text is not a reference to a class or function."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} names no store: {why}; give {FORMS}")


class StoreArgumentsError(LoadError):
    """The factory asks for more than the path that it is given."""

    def __init__(self, text: str, signature: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} takes {signature}, but a store is made with one argument, a path"
            " at which nothing stands yet, or with none: name a function that gives it"
            " what else it needs"
        )


class BrokenStoreFactoryError(LoadError):
    """The factory raised; ``why`` tells what, and the user's own line."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} gives no store: calling it raised {why}")


class NotAStoreError(LoadError):
    """What the factory gave has not the four methods, or not as ``async def``."""

    def __init__(self, text: str, got: object, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} gives a {type(got).__name__}, no store: {why}")


class UnknownStoreCapabilityError(LoadError):
    """The store declares what no store can."""

    def __init__(self, text: str, name: object, known: Sequence[str]) -> None:
        self.text = text
        close = get_close_matches(str(name), known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        super().__init__(
            f"{text!r} declares the capability {name!r}, which there is not{hint};"
            f" there are {', '.join(known)}"
        )


class UselessStoreCapabilityError(LoadError):
    """The store declares what cannot be asked of it."""

    def __init__(self, text: str, name: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} declares the capability {name!r}, but {why}")
