"""Events of such a dialect as observations have them, and what a session keeps.

Ids of events and invocations and times are drawn anew in every run, and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from refengine.messages import NOTHING, Json
from refengine.testing.json_values import is_mapping
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import written

USER: Final = "user"
"""The author of what the user says."""
DRAWN: Final = "adk-"
"""How the ids begin that a framework gives to calls of its own."""
ROLES: Final[Mapping[str, str]] = MappingProxyType({"model": "assistant"})
"""Roles of contents that messages call otherwise."""


@dataclass(frozen=True, slots=True)
class FlowCall:
    """A call that stands in an event; ``id`` is that of the model's answer."""

    id: str
    name: str
    args: Mapping[str, Json] = field(default=NOTHING, hash=False)

    @property
    def json(self) -> dict[str, Json]:
        """The call as messages have it."""
        return {
            "id": known(self.id),
            "name": self.name,
            "arguments": written(self.args),
        }


@dataclass(frozen=True, slots=True)
class FlowResponse:
    """What came of a call."""

    id: str
    name: str
    response: Json = field(default=None, hash=False)


def as_messages(
    role: str | None,
    text: str,
    calls: Sequence[FlowCall],
    others: Sequence[Json],
    responses: Sequence[FlowResponse],
) -> Iterator[Json]:
    """Yield a content as messages: what is said, and each function response.

    ``others`` is what of it is neither text nor a call nor a response.
    """
    if text or calls or others or not responses:
        role = role or USER
        message: dict[str, Json] = {"role": ROLES.get(role, role), "content": text}
        if calls:
            message["tool_calls"] = [call.json for call in calls]
        if others:
            message["parts"] = list(others)
        yield message
    for each in responses:
        result, call_id = written(each.response), known(each.id)
        yield {"role": "tool", "content": result, "tool_call_id": call_id}


@dataclass(frozen=True, slots=True)
class FlowQuestion:
    """A confirmation that a run waits for: of ``call``, asked by the call ``id``."""

    id: str
    name: str
    call: FlowCall
    hint: str = ""


def question_of(call: FlowCall) -> FlowQuestion:
    """Return the question that a call of a framework's own asks."""
    asked = as_object(call.args.get("originalFunctionCall"))
    told = as_object(call.args.get("toolConfirmation"))
    args = as_object(asked.get("args"))
    original = FlowCall(str(asked.get("id", "")), str(asked.get("name", "")), args)
    return FlowQuestion(call.id, call.name, original, str(told.get("hint", "")))


Said: TypeAlias = str | Sequence[FlowResponse]
"""What a user says: a text, or answers to what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowEvent:
    """One event: who says what, and what it does besides.

    ``more`` has what events seldom carry, such as an error's code or parts that are not
    text. A ``partial`` event is told and never kept.
    """

    author: str
    text: str = ""
    calls: tuple[FlowCall, ...] = ()
    responses: tuple[FlowResponse, ...] = ()
    questions: tuple[FlowQuestion, ...] = ()
    partial: bool = False
    final: bool = False
    actions: Mapping[str, Json] = field(default=NOTHING, hash=False)
    more: Mapping[str, Json] = field(default=NOTHING, hash=False)

    @property
    def kind(self) -> str:
        """What sort of event it is, whoever's: a word for reports and channels."""
        if self.responses:
            return "tool"
        if self.author == USER:
            return USER
        return "model" if self.text or self.calls else "actions"

    @property
    def messages(self) -> list[Json]:
        """What it says, as messages of a history."""
        if not (self.text or self.calls or self.responses):
            return []
        role = USER if self.author == USER else "model"
        return [*as_messages(role, self.text, self.calls, (), self.responses)]

    @property
    def kept(self) -> dict[str, Json]:
        """The event as a session keeps it."""
        found: dict[str, Json] = {"author": self.author, "messages": self.messages}
        if self.actions:
            found["actions"] = snapshot(self.actions)
        if self.more:
            found["more"] = snapshot(self.more)
        return found


def as_object(value: Json) -> Mapping[str, Json]:
    """Return a JSON object, an empty one for anything else."""
    return value if is_mapping(value) else {}


def object_in(text: str) -> dict[str, Json]:
    """Return the JSON object in the text of a call's arguments, an empty one if none.

    A vendor's client has read them before a framework sees them.
    """
    try:
        return dict(as_object(json.loads(text or "{}")))
    except ValueError:
        return {}


def known(call_id: str) -> str:
    """Return the id of a call, without what was drawn for it."""
    return DRAWN if call_id.startswith(DRAWN) else call_id


@dataclass(frozen=True, slots=True)
class StoredSession:
    """What a service keeps of a session: events, state by scope, artifacts by name.

    Of an artifact these are its versions in order.
    """

    events: Sequence[FlowEvent] = ()
    state: Mapping[str, Mapping[str, Json]] = field(
        default_factory=dict[str, Mapping[str, Json]], hash=False
    )
    artifacts: Mapping[str, Json] = field(default=NOTHING, hash=False)


SCOPES: Final = ("app", "user", "session")
"""The scopes of a state that is kept; ``temp`` ends with its run."""


def by_scope(state: Mapping[str, object]) -> dict[str, dict[str, Json]]:
    """Return a state by scope, its keys without the prefixes that name one.

    A key of ``temp:`` that was kept all the same is told under that name.
    """
    found: dict[str, dict[str, Json]] = {scope: {} for scope in SCOPES}
    for key, value in state.items():
        prefix, colon, rest = key.partition(":")
        scoped = bool(colon) and prefix in {"app", "user", "temp"}
        scope, name = (prefix, rest) if scoped else ("session", key)
        found.setdefault(scope, {})[name] = snapshot(value)
    return found
