"""What goes wrong with callbacks, one class a cause; the message says what to do.

CallbacksError
├── CallbackTypeError (ValueError)       a callback of a type that does not exist
├── CallbackValueError (TypeError)       a callback that cannot be called
├── EqualTypesError (ValueError)         two rows of one name in a table
├── ListenerTypesError (ValueError)      an external listener asks for what is not its
├── NoClientsError                       a client under a profile that has none
├── ClientNotConnectedError (LookupError)    a client to take away that is not there
├── SecondManagerError                   an agent that another manager has
├── SessionIdError (ValueError)          a session without an id, or without a message
├── SessionBusyError                     a session that runs already
├── StateValueError (TypeError)          a loaded state that is none
└── StaleStateError                      a session that somebody else has stored since

CallbackWarning is given where the callback fails that is told of failures.
"""

from __future__ import annotations

from refengine.errors import RefengineError, error, suggestion


class CallbacksError(RefengineError):
    """What every error of this dialect is."""


class CallbackWarning(UserWarning):
    """``on_error`` itself raised, and there is nobody left to tell."""


@error
class CallbackTypeError(CallbacksError, ValueError):
    """No row of the table has that name."""

    name: str
    known: tuple[str, ...]
    says = "no callback {name!r}: {close}the table has {known!j}"

    @property
    def close(self) -> str:
        """What was perhaps meant."""
        return suggestion(self.name, self.known)


@error
class CallbackValueError(CallbacksError, TypeError):
    """A callback is a function, or None."""

    name: str
    got: object
    says = "{name}={got!c} ({got!t}): give a function, or None"


@error
class EqualTypesError(CallbacksError, ValueError):
    """Two rows of one table have the same name."""

    name: str
    says = "two callback types are named {name!r}: give each a name of its own"


@error
class ListenerTypesError(CallbacksError, ValueError):
    """An external listener hears what it shares with the clients, and no more."""

    names: tuple[str, ...]
    shared: tuple[str, ...]
    says = (
        "set_callbacks: {names!j}: an external listener hears {shared!j}; give the rest"
        " to a client"
    )


@error
class NoClientsError(CallbacksError):
    """Under this profile a manager has one slot and no clients."""

    profile: str
    says = "under {profile} there are no clients: use set_callbacks, or callbacks-v2"


@error
class ClientNotConnectedError(CallbacksError, LookupError):
    """A client is to be taken away that the manager does not have."""

    client: object
    says = "{client!c} is not connected: call set_client first"


@error
class SecondManagerError(CallbacksError):
    """An agent has one slot for callbacks, and a manager has it already."""

    agent: str
    says = (
        "agent {agent!r} has a session manager: connect another client to that one, or"
        " make a second agent"
    )


@error
class SessionIdError(CallbacksError, ValueError):
    """A session has an id that is not empty, and at least one message."""

    session_id: object
    messages: int
    says = "session {session_id!c} with {messages} messages: give an id and a message"


@error
class SessionBusyError(CallbacksError):
    """One session is run twice at a time, so that one would undo the other."""

    session_id: str
    says = "session {session_id!r} runs already: await its end, or give another id"


@error
class StateValueError(CallbacksError, TypeError):
    """What was loaded is not a state."""

    session_id: str
    got: object
    says = (
        "session {session_id!r}: loaded {got!c} ({got!t}); give None, a SessionState or"
        " a mapping that SessionState.as_json() gave"
    )


@error
class StaleStateError(CallbacksError):
    """The store has another revision of the session than the one that went on."""

    session_id: str
    known: int
    found: int
    says = (
        "session {session_id!r}: revision {known} was loaded, and the store has"
        " {found}: load it again"
    )
