"""Interrupts: a run that stops to ask, and goes on with the answer (contract INT).

An ``Interrupt`` is not an error: ``except Exception`` does not catch it, and a wrapper
that catches it all the same cannot keep it. Where the agent keeps its runs, ``resume``
goes on from there, in any process.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from refengine.messages import Json


@dataclass(frozen=True, slots=True)
class Address:
    """Where an interrupt came from; its text is what ``resume`` is given.

    ``ordinal`` counts what would else have one address: a wrapper that is entered
    twice in one call, a hook that asks twice.
    """

    run_path: tuple[str, ...]
    iteration: int
    hook: str
    owner: str
    tool: str | None = None
    call_id: str | None = None
    ordinal: int = 1

    def __str__(self) -> str:
        call = f" {self.tool}({self.call_id})" if self.tool is not None else ""
        again = f" #{self.ordinal}" if self.ordinal > 1 else ""
        path = "/".join(self.run_path)
        return f"{path} {self.iteration} {self.hook} {self.owner}{call}{again}"


@dataclass(frozen=True, slots=True)
class Pending:
    """An interrupt that waits for an answer: where it came from and what it asks."""

    address: Address
    payload: Json


class Interrupt(BaseException):
    """Stops a run where it is raised: in a tool, a wrapper or a hook of a pipeline.

    ``payload`` is what is asked, as JSON values. ``pending`` is set where the interrupt
    leaves the hook that raised it: with its address, by which it is answered. ``where``
    are the hook and whose it is, in an agent that keeps nothing.
    """

    def __init__(self, payload: Json = None) -> None:
        self.payload = payload
        self.pending: Pending | None = None
        self.where: tuple[str, str] | None = None
        super().__init__(payload)

    def leaves(self, hook: str, owner: str) -> None:
        """Note the hook that it was raised in: the first that it leaves."""
        self.where = self.where or (hook, owner)


def interrupt_in(error: BaseException) -> Interrupt | None:
    """Return the interrupt that an error is, or the first one that a group holds.

    A TaskGroup hands on what its tasks raised as a group, interrupts too.
    """
    if isinstance(error, Interrupt):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    held: Sequence[BaseException] = cast("Any", error).exceptions  # pyright cannot tell
    within = (interrupt_in(each) for each in held)
    return next((each for each in within if each is not None), None)


class Questioned(Protocol):
    """One entry into a hook, a wrapper or a tool, as the code in it can ask for."""

    reentry: bool

    @property
    def where(self) -> tuple[str, str]:
        """The name of the extension or tool, and its hook."""
        ...

    def ask(self, payload: Json) -> Json:
        """Return the next answer; raises Interrupt if there is none."""
        ...

    def forget(self, stop: Interrupt) -> None:
        """Take back an interrupt that became an error by name."""
        ...


class Stoppable(Protocol):
    """The call around a point, which may end with an interrupt."""

    stopped: Interrupt | None


CALL: Final[ContextVar[Stoppable]] = ContextVar("refengine_scope")
"""The call around this point; ``chain.SCOPE`` tells more of it."""
ENTERED: Final[ContextVar[Questioned | None]] = ContextVar(
    "refengine_entered", default=None
)


def interrupt(payload: Json = None) -> Json:
    """Ask, and return what ``resume`` answered: None if it was given no answers.

    The first time it raises Interrupt, and the run ends with the status
    ``interrupted``. On resume the hook around this point is entered again from its
    start, and the same call returns the answer; a second call in the same hook asks
    anew. Raises Interrupt, or NotKeepableError if ``payload`` cannot be kept.
    """
    entered = ENTERED.get()
    if entered is not None:
        return entered.ask(payload)
    stop = Interrupt(payload)  # an agent that keeps nothing: nobody could answer
    scope = CALL.get(None)
    if scope is not None:  # in case that it is caught right here
        scope.stopped = scope.stopped or stop
    raise stop


def take_back(stop: Interrupt) -> None:
    """Forget a question of a stream that was open: it becomes an error by name."""
    entered, scope = ENTERED.get(), CALL.get(None)
    if entered is not None:
        entered.forget(stop)
    elif scope is not None and scope.stopped is stop:
        scope.stopped = None


def is_reentry() -> bool:
    """Tell whether the hook, wrapper or tool around this point is entered again.

    What stood before the interrupt in it has been done once already.
    """
    entered = ENTERED.get()
    return entered is not None and entered.reentry
