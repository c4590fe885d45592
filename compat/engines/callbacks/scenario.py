"""A world of the callbacks dialect as data (JSON, versioned): clients, sessions, turns.

It says what a model answers, what tools give, who listens to what and does what when it
is told, and what happens before each session. A CallbacksWorld turns it into a model,
tools, clients and a listener.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, NonNegativeFloat, PositiveInt, model_validator

from compat.dialects.callbacks.table import Owner
from refengine.messages import MessageChunk, ToolCallChunk
from refengine.testing.ops import Spec

CALLBACKS_VERSION: Final = 1

Version: TypeAlias = Literal["own", "v1", "v2"]
"""What plays: what the door is anyway, or the first or second version with clients that
were written for the first."""


class HeardSpec(Spec):
    """What a callback does when it is told for the nth time, from 1: raise, or wait.

    ``gives`` is what a storage of one's own loads, null being nothing.
    """

    raises_on: tuple[PositiveInt, ...] = ()
    seconds: NonNegativeFloat = 0
    gives: JsonValue = None


class ClientSpec(Spec):
    """A client and what it listens to; an ``old`` one has the two methods of v1."""

    name: str
    hears: dict[str, HeardSpec] = Field(default_factory=dict)
    old: bool = False


class SessionCallSpec(Spec):
    """A call of a tool."""

    name: str
    id: str
    arguments: str = "{}"


class SessionAnswerSpec(Spec):
    """How a model answers once: texts, a chunk each, then calls; or it raises."""

    texts: tuple[str, ...] = ()
    calls: tuple[SessionCallSpec, ...] = ()
    error: str | None = None
    seconds: NonNegativeFloat = 0

    def chunks(self) -> list[MessageChunk]:
        """Return it as the messages have it."""
        pieces = (
            ToolCallChunk(None, each.id, each.name, each.arguments)
            for each in self.calls
        )
        found = [MessageChunk(each) for each in self.texts]
        if self.calls:
            found.append(MessageChunk(tool_calls=tuple(pieces)))
        return found or [MessageChunk()]


class SessionToolSpec(Spec):
    """A tool that gives a text, or raises; first it may tell a fact of its own."""

    name: str
    text: str = "ok"
    error: str | None = None
    seconds: NonNegativeFloat = 0
    emits: str = ""


class RowSpec(Spec):
    """A type of callback beside those of the table; it is told one number."""

    name: str
    owners: tuple[Owner, ...]


class AroundSpec(Spec):
    """What stands around each delivery: it hands it on, or does not, or raises."""

    name: str
    does: Literal["hands_on", "drops", "raises"] = "hands_on"
    of: str = ""
    """The type of callback in which it does so; the others it hands on."""


class HappensSpec(Spec):
    """What happens before a session.

    A client is connected by itself or by the manager, is taken away, or gets other
    callbacks; so does the listener. A second manager asks for the agent, or agent and
    manager are made anew over what is stored.
    """

    do: Literal[
        "connect", "connect_by_client", "remove", "set", "listen", "manage", "restart"
    ]
    client: str = ""
    hears: dict[str, HeardSpec] = Field(default_factory=dict)


class SessionTurnSpec(Spec):
    """One session: what happens before it, and what its user says in it."""

    session: str = "s"
    texts: Annotated[tuple[str, ...], Field(min_length=1)] = ("hi",)
    before: tuple[HappensSpec, ...] = ()
    stream: bool = False
    leave_after: PositiveInt | None = None
    cancel_after: NonNegativeFloat | None = None


class CallbacksScenario(Spec):
    """Sessions of one agent, one after the other.

    ``compares`` plays it all twice, from fresh: clients of the first version there and
    adapted to the second, or sessions kept in memory and in a file.
    """

    version: Literal[1] = CALLBACKS_VERSION
    subject: Literal["callbacks"] = "callbacks"
    script: tuple[SessionAnswerSpec, ...] = ()
    tools: tuple[SessionToolSpec, ...] = ()
    clients: tuple[ClientSpec, ...] = ()
    rows: tuple[RowSpec, ...] = ()
    middleware: tuple[AroundSpec, ...] = ()
    file: bool = False
    compares: Literal["", "versions", "stores"] = ""
    turns: Annotated[tuple[SessionTurnSpec, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _clients_are_there(self) -> CallbacksScenario:
        names = [each.name for each in self.clients]
        if len(set(names)) < len(names):
            raise ValueError("two clients have one name")
        for turn in self.turns:
            for each in turn.before:
                needs = each.do in {"connect", "connect_by_client", "remove", "set"}
                if needs and each.client not in names:
                    raise ValueError(f"{each.do}: no client {each.client!r}")
        return self

    @model_validator(mode="after")
    def _old_clients_alone_are_compared(self) -> CallbacksScenario:
        if self.compares != "versions":
            return self
        if not all(each.old for each in self.clients):
            raise ValueError("versions are compared by clients that are 'old'")
        if any(x.do == "manage" for turn in self.turns for x in turn.before):
            raise ValueError("versions differ in what a second manager does")
        return self

    def client(self, name: str) -> ClientSpec:
        """Return the client of that name."""
        return next(each for each in self.clients if each.name == name)
