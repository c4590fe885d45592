"""Profiles of the callbacks dialect: its two versions, and the sketch of the second.

``callbacks-v1`` is our reconstruction of what there was before, from the migration
guide of the seed. ``callbacks-v2-sketch`` is the code of the seed as it would run.
``callbacks-v2``, the default, does what the seed says its code is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from refengine.postures import named, profiles_in, refuse_unknown_options


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbacksProfile:
    """One version's choices. A field left out, or an unknown value, does not load."""

    name: str
    clients: Literal["several", "one", "none"]
    """how many clients a manager has: each that is connected, the one that was
    connected last, or none since there is one slot alone, which the listener is"""
    listener_hears: Literal["shared", "everything"]
    """what the external listener may ask for: what it shares with the clients, or
    anything"""
    shared: Literal["each_owner", "tool_end_only"]
    """which callbacks of several owners reach the listener as well: all, or the end of
    a tool alone"""
    session_callbacks: Literal["told", "overwritten"]
    """a client's callbacks of the start and the end of a session: told, or lost under
    those of the manager"""
    client_callbacks: Literal["late", "at_setup"]
    """when the callbacks of a client are read: at each delivery, or once, when the
    manager was set up"""
    loaded_state: Literal["not_none", "truthy"]
    """which state that a client loads counts: any, or none that is empty"""
    saving: Literal["stored_then_told", "told_then_stored"]
    """whether a client that hears of a state can rely on its being stored"""
    failures: Literal["isolated", "aborts"]
    """a callback that raises: on_error is told and the others are called, or it comes
    out of the run"""
    second_manager: Literal["refused", "replaces"]
    """a second manager for one agent"""

    def __post_init__(self) -> None:
        refuse_unknown_options(self)


CALLBACKS_PROFILES: Final = tuple(
    profiles_in(
        CallbacksProfile, Path(__file__).with_name("profiles.toml").read_text("utf-8")
    )
)
"""All profiles of the dialect, in the order of ``profiles.toml``."""


def callbacks_profile(name: str) -> CallbacksProfile:
    """Return the profile of that name; raises UnknownProfileError with a suggestion."""
    return named(CALLBACKS_PROFILES, name)
