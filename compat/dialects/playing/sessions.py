"""Playing sessions with callbacks: a manager, its clients, its listener, its store.

A subject returns the ``SessionManager``. A run is a message to a session: to the one of
the run before if it continues, to that of the option ``session``, or to a new one. With
the option ``restart`` the subject is called once more before, as in another process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from compat.dialects.callbacks.agent import SessionResult
from compat.dialects.callbacks.delivering import Deliver, Delivery
from compat.dialects.callbacks.manager import SessionManager
from compat.dialects.callbacks.state import SessionState
from compat.dialects.callbacks.table import AgentCallbacks
from refengine.messages import History, Json, Message
from refengine.testing.json_values import is_list
from refengine.testing.points import class_of
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.stack_play import StackPlay
from refengine.testing.subjects import Played, Subject, SubjectError
from refengine.testing.world import World

SESSION, RESTART = "session", "restart"
SLOT: Final = "slot"
"""Whose callbacks those of the first version are, which has one slot for all."""
INSTEAD: Final = (
    "return the SessionManager over a CallbackAgent of world.model and world.tools"
)


def play(scenario: Scenario, subject: Subject, world: World, got: object) -> Played:
    """Play the sessions of a manager; raises SubjectError and EffectError."""
    shape = SessionRuns(world, subject, _manager(got))
    return StackPlay(scenario, world, shape).played(got)


def _manager(got: object) -> SessionManager:
    if not isinstance(got, SessionManager):
        raise SubjectError(got, "that is not a session manager", INSTEAD)
    return got


class SessionRuns:
    """A manager, whose deliveries are put down."""

    def __init__(self, world: World, subject: Subject, manager: SessionManager) -> None:
        self._world, self._subject = world, subject
        self._hooks: Counter[str] = Counter()
        self._told: dict[str, Counter[str]] = {}
        self._manager = manager
        self._watched(manager)
        self._number = 0
        self._session = ""
        self._result: SessionResult | None = None
        self._status = "error"

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each callback of each owner was told."""
        self._count_those_of(self._manager)  # what was connected later is there, too
        return dict(self._hooks)

    async def run(self, spec: RunSpec, said: Sequence[Message]) -> None:
        """Send a message to its session; what comes out of the agent comes out."""
        self._result, self._status = None, "error"
        if not spec.continues or not self._session:
            self._number += 1
            self._session = f"session-{self._number}"
        self._session = str(spec.options.get(SESSION, self._session))
        if spec.options.get(RESTART):
            self._count_those_of(self._manager)
            self._manager = _manager(self._subject(self._world))
            self._watched(self._manager)
        agent = self._manager.agent
        self._result = await agent.run(self._session, said[-1].content)

    async def left(self) -> Mapping[str, object]:
        """Return how the last run ended, and what the manager's store has now."""
        result = self._result
        saved = await self._saved()
        if result is None:
            return {"status": "error", "answer": "", "messages": [], "saved": saved}
        return {
            "status": result.status,
            "answer": "" if result.answer is None else result.answer.content,
            "messages": tuple(result.state.messages),
            "saved": saved,
        }

    async def _saved(self) -> dict[str, Any]:
        found: dict[str, Any] = {"session": self._session, "messages": None}
        try:
            stored = await self._manager.store.load(self._session)
        except Exception as error:  # noqa: BLE001  # what a store does is data
            return {**found, "values": {"error": class_of(error)}}
        if stored is None:
            return found
        return {"session": self._session, **_of_state(stored.state)}

    def _watched(self, manager: SessionManager) -> None:
        self._count_those_of(manager)
        manager.watch = self._hears
        manager.add_middleware(self._sees)

    def _count_those_of(self, manager: SessionManager) -> None:
        """Have callbacks counted that are there, also where nothing is told them."""
        for client in manager.clients:
            self._expect("client", client.agent_callbacks)
        self._expect(self._owner("listener"), manager.listener)

    def _expect(self, owner: str, callbacks: AgentCallbacks | None) -> None:
        for name in () if callbacks is None else callbacks.names:
            self._hooks.setdefault(f"{owner}.{name}", 0)

    async def _sees(self, delivery: Delivery, deliver: Deliver) -> Any:  # noqa: ANN401  # a callback's
        owner = self._owner(delivery.owner)
        self._hooks[f"{owner}.{delivery.name}"] += 1
        self._told[delivery.name][owner] += 1
        return await deliver(delivery)

    def _hears(self, name: str, data: tuple[Any, ...]) -> None:
        """Put down a fact; who is told of it joins it while they are."""
        self._told[name] = Counter()
        told = [_shown(each) for each in data]
        fact = {"callback": name, "data": told, "to": self._told[name]}
        self._world.recorder.add("delivery", fact)

    def _owner(self, owner: str) -> str:
        one_slot = self._manager.profile.clients == "none"
        return SLOT if owner == "listener" and one_slot else owner


def _of_state(state: SessionState) -> dict[str, Json]:
    written = state.as_json()
    return {"messages": written["messages"], "values": snapshot(state.more_as_json())}


def _shown(value: object) -> Json:
    """Return what a callback was told, without what other channels say better.

    Those are messages, in requests and in what is kept, and texts of errors.
    """
    if isinstance(value, SessionState):
        return snapshot(value.more_as_json())
    if isinstance(value, BaseException):
        return class_of(value)
    if isinstance(value, History) or is_list(value):
        return "<messages>"
    return snapshot(value)
