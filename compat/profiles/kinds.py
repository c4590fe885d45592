"""The kinds of profiles: the engine's, and one of each dialect.

A posture belongs to one kind, so that two profiles of different kinds have nothing in
which they could differ.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Final

from compat.dialects.callbacks.profile import CALLBACKS_PROFILES, CallbacksProfile
from compat.dialects.flow.profile import FLOW_PROFILES, FlowProfile
from compat.dialects.stream_loop.profile import LOOP_PROFILES, LoopProfile
from refengine.errors import RefengineError, error
from refengine.postures import AnyProfile, named
from refengine.profile import PROFILES, Profile


@dataclass(frozen=True, slots=True)
class PostureDifference:
    """One posture in which two profiles differ, with what shows it.

    ``shown`` has the first divergence of two runs, or what comes of either option; it
    is empty where only a whole run shows the posture.
    """

    posture: str
    by: str
    """A scenario, a decision or a small world, in a line."""
    shown: tuple[str, ...] = ()


@error
class ProfileKindsError(RefengineError, ValueError):
    """Two profiles that have no posture in common."""

    left: str
    left_kind: str
    right: str
    right_kind: str
    says = (
        "{left} is a profile of {left_kind}, {right} one of {right_kind}: compare two"
        " of one kind (refengine profile list shows them)"
    )


@dataclass(frozen=True, slots=True)
class ProfileKind:
    """One kind of profile; ``key`` is its name in JSON, empty for the engine's.

    ``shown_by`` is the function of this package that yields in which postures two of
    them differ, each with what shows it, as ``module:name``.
    """

    key: str
    title: str
    of: type[AnyProfile]
    profiles: tuple[AnyProfile, ...]
    shown_by: str

    def differences(self, a: AnyProfile, b: AnyProfile) -> Iterator[PostureDifference]:
        """Yield each posture in which two profiles of it differ, and what shows it."""
        module, _, name = self.shown_by.partition(":")
        found = import_module(f"compat.profiles.{module}")
        yield from getattr(found, name)(a, b)


KINDS: Final = (
    ProfileKind("", "the engine", Profile, PROFILES, "comparing:profile_differences"),
    ProfileKind(
        "flow",
        "the Flow dialect",
        FlowProfile,
        FLOW_PROFILES,
        "small_worlds:flow_differences",
    ),
    ProfileKind(
        "stream-loop",
        "the stream-loop dialect",
        LoopProfile,
        LOOP_PROFILES,
        "small_worlds:loop_differences",
    ),
    ProfileKind(
        "callbacks",
        "the callbacks dialect",
        CallbacksProfile,
        CALLBACKS_PROFILES,
        "small_worlds:callbacks_differences",
    ),
)


def known_profile(name: str) -> tuple[ProfileKind, AnyProfile]:
    """Return the profile of that name, of whatever kind, and its kind.

    Raises UnknownProfileError with a suggestion.
    """
    found = named((each for kind in KINDS for each in kind.profiles), name)
    return next(kind for kind in KINDS if found in kind.profiles), found


def of_one_kind(a: str, b: str) -> tuple[ProfileKind, AnyProfile, AnyProfile]:
    """Return two profiles that can be compared.

    Raises UnknownProfileError, or ProfileKindsError for two of different kinds.
    """
    (kind, left), (other, right) = known_profile(a), known_profile(b)
    if kind is not other:
        raise ProfileKindsError(a, kind.title, b, other.title)
    return kind, left, right


def meanings(kind: type[AnyProfile] = Profile) -> Mapping[str, str]:
    """Return the sentence of each posture by name.

    They are read from the source, where they cannot be forgotten when a posture is
    changed.
    """
    [found] = ast.parse(inspect.getsource(kind)).body
    return dict(_sentences(found.body if isinstance(found, ast.ClassDef) else ()))


def _sentences(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            yield field.target.id, " ".join(str(text.value.value).split())
