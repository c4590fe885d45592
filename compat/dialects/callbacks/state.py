"""The state of a session: its messages, and what a storage of one's own adds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

from compat.dialects.callbacks.errors import StateValueError
from refengine.messages import NOTHING, History, Json, Message, frozen_json
from refengine.testing.json_values import is_list, is_mapping, read_message, write

_OWN = frozenset(("session_id", "messages"))


@final
@dataclass(frozen=True, slots=True)
class SessionState:
    """All that is kept of a session. Later states share their messages with it.

    ``more`` is what a client's own storage gave besides; it is handed back as it was.
    """

    session_id: str
    messages: History = field(default_factory=History)
    more: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        if self.more is not NOTHING:
            object.__setattr__(self, "more", frozen_json(self.more))

    def with_messages(self, *messages: Message) -> SessionState:
        """Return a state with these behind the others; this one stays as it is."""
        history = self.messages
        for each in messages:
            history = history.appended(each)
        return replace(self, messages=history)

    def as_json(self) -> dict[str, Any]:
        """Return it in the types of ``json``, for a storage of one's own."""
        return {
            **self.more_as_json(),
            "session_id": self.session_id,
            "messages": [json.loads(write(each)) for each in self.messages],
        }

    def more_as_json(self) -> dict[str, Json]:
        """Return what is kept besides the messages, in the types of ``json``."""
        return {key: _plain(each) for key, each in self.more.items()}


def state_of(loaded: object, session_id: str) -> SessionState:
    """Return what was loaded as a state; an empty mapping is an empty state.

    Raises StateValueError.
    """
    if loaded is None:
        return SessionState(session_id)
    if isinstance(loaded, SessionState):
        return loaded
    if not is_mapping(loaded):
        raise StateValueError(session_id, loaded)
    given = loaded.get("messages", [])
    try:
        messages = tuple(read_message(json.dumps(each)) for each in given)
    except (TypeError, ValueError, KeyError, AttributeError) as cause:
        raise StateValueError(session_id, loaded) from cause
    more = {key: each for key, each in loaded.items() if key not in _OWN}
    return SessionState(session_id, History(messages), more)


def _plain(value: Json) -> Json:
    if is_mapping(value):
        return {key: _plain(each) for key, each in value.items()}
    if is_list(value):
        return [_plain(each) for each in cast("list[Json]", value)]
    return value
