"""What going on with a run raises, one class a cause; the message says what to do.

    RefengineError (in refengine.errors)
    ├── JournalledError                      an error of a call that was made before
    ├── NotResumableError                    the run under that key is at its end
    ├── UnknownInterruptError (LookupError)  an answer to what nobody asked
    └── ChangedAgentError                    the run was another agent's

Contract INT, §5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from refengine.errors import RefengineError, error, suggestion


@error
class NotResumableError(RefengineError):
    """The run under that key has come to its end: there is nothing to go on with."""

    key: str
    status: str | None
    says = (
        "checkpoint {key!c} is of a run that ended ({status}):"
        " start another one by agent.run, with a key of its own"
    )


class UnknownInterruptError(RefengineError, LookupError):
    """An answer is addressed to an interrupt that does not wait in this run."""

    says = (
        "no interrupt waits at {given!c}: {_hint}waiting: {_waiting};"
        " give answers by str(address), as RunResult.interrupts has it"
    )

    def __init__(self, given: str, pending: Iterable[str]) -> None:
        self.given: str = given
        self.pending: tuple[str, ...] = tuple(pending)
        self.__post_init__()

    @property
    def _hint(self) -> str:
        return suggestion(self.given, self.pending)

    @property
    def _waiting(self) -> str:
        return ", ".join(map(repr, self.pending)) or "none"


@error
class ChangedAgentError(RefengineError):
    """A run was kept by an agent that differs from this one in ``what``."""

    what: str
    stored: object
    now: object
    says = (
        "this run was kept with {what} {stored!c}, and the agent has"
        " {now!c}: resume it with an agent built as the first one was"
    )


@error
class JournalledError(RefengineError):
    """An error that a call had raised before the run was interrupted, raised again.

    ``kind`` is the name of its class then; its text is the same. The class itself does
    not come back, because nothing is imported that stored data names: only what is in
    ``JOURNALLED`` is caught by its class again. For all else catch this and ask for
    ``kind``.
    """

    kind: str
    text: str
    says = "{text}"

    def __str__(self) -> str:
        return self.text


JOURNALLED: Final[Mapping[str, type[JournalledError]]] = MappingProxyType(
    {
        each.__name__: type(f"Journalled{each.__name__}", (JournalledError, each), {})
        for each in (
            *(ArithmeticError, AssertionError, AttributeError, ConnectionError),
            *(ImportError, IndexError, KeyError, LookupError),
            *(NotImplementedError, OSError),
            *(PermissionError, RuntimeError, TimeoutError, TypeError, ValueError),
        )
    }
)

"""Python's own errors that a wrapper may catch by their class, also after a resume."""


def journalled(kind: str, text: str, base: str | None = None) -> JournalledError:
    """Return an error of that class, as far as it can come back, with that text.

    ``base`` is the nearest class of its own that is in ``JOURNALLED``.
    """
    return JOURNALLED.get(base or kind, JournalledError)(kind, text)


def base_of(error: Exception) -> str | None:
    """Return the nearest class by which it is caught also after a resume, if any."""
    names = (each.__name__ for each in type(error).__mro__ if _is_python_s(each))
    return next((name for name in names if name in JOURNALLED), None)


def _is_python_s(cls: type) -> bool:
    return cls.__module__ == "builtins"
