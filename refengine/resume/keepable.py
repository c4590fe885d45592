"""The border: what is kept is looked at when it is put in (SER; seed 000 §3.3).

A value that cannot come back as it was is refused there and then, with the handler, the
hook and the path to it: at the next interrupt nobody would know any more who put it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from refengine.errors import Refused
from refengine.interrupts import ENTERED
from refengine.messages import NOTHING, History, Message
from refengine.struct_middleware import ChatModelAgentState

if TYPE_CHECKING:
    from refengine.context import Context
    from refengine.resume.checkpoint import TypeRegistry

Where: TypeAlias = tuple[str, str]
"""Whose doing it is: an extension by name, and its hook."""


def packed(types: TypeRegistry, value: object, where: Where, what: str) -> object:
    """Return a value as it is kept; NotKeepableError if it could not come back."""
    try:
        return types.pack(value, at=what)
    except Refused as refused:
        raise refused.at(*where) from None


def check(types: TypeRegistry, value: object, where: Where, what: str) -> None:
    """Raise NotKeepableError if ``value`` could not come back as it is."""
    packed(types, value, where, what)


def check_message(
    types: TypeRegistry, message: Message, where: Where, what: str
) -> None:
    """Check what a message carries, and that its text is not a class of its own."""
    if message.content.__class__ is not str:
        check(types, message.content, where, f"{what}.content")
    if message.extra is NOTHING:
        return
    try:
        types.check_extra(message.extra, at=f"{what}.extra")
    except Refused as refused:
        raise refused.at(*where) from None


def check_new(
    types: TypeRegistry, new: Sequence[Message], old: Sequence[Message], where: Where
) -> None:
    """Check the messages that a hook put into a history, and no others."""
    first = 0
    added: Sequence[Message] = new
    if isinstance(new, History) and isinstance(old, History):
        first = new.shared(old)
        added = new.since(first)
    fresh = [(at, m) for at, m in enumerate(added, first) if not _is_plain(m)]
    if not fresh:
        return
    known = {id(each) for each in old}
    for at, message in fresh:
        if id(message) not in known:
            check_message(types, message, where, f"messages[{at}]")


def _is_plain(message: Message) -> bool:
    return message.extra is NOTHING and message.content.__class__ is str


def check_context(
    types: TypeRegistry, new: Context, old: Context, where: Where
) -> None:
    """Check the values that a hook put into the context of the iteration."""
    for key, value in changed_values(new, old).items():
        check(types, {key: None}, where, "ctx")
        check(types, value, where, f"ctx[{key!r}]")


def changed_values(new: Context, old: Context) -> dict[str, object]:
    """Return the values that one context has and the other has not, by identity.

    The state that adapted struct middlewares share is none of them: it belongs to a
    pass, and one that goes on makes it anew from its messages.
    """
    if new is old:
        return {}
    missing = object()
    return {
        key: value
        for key, value in new.items()
        if old.get(key, missing) is not value
        and not isinstance(value, ChatModelAgentState)
    }


class CheckedLocals(dict[str, object]):
    """The run-local values of a run that is kept; each is checked when it is set."""

    def __init__(self, types: TypeRegistry, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self._types = types

    def __setitem__(self, key: str, value: object) -> None:
        entered = ENTERED.get()
        where = ("the run", "set_run_local") if entered is None else entered.where
        check(self._types, {key: None}, where, "run local")
        check(self._types, value, where, f"run local {key!r}")
        super().__setitem__(key, value)


def check_all(types: TypeRegistry, messages: Iterable[Message], where: Where) -> None:
    """Check messages that are new as a whole: what a run is given."""
    for at, message in enumerate(messages):
        check_message(types, message, where, f"messages[{at}]")
