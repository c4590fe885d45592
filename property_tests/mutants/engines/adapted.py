"""Engines in which adapted structs are not what native ones are (COMPAT)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.compiled import Binder
from refengine.extensions import Extensions
from refengine.profile import Profile, choosing
from refengine.struct_middleware import LegacyPass
from refengine.tool_onion import ToolLayer, ToolOnion


def _unwound(right: Callable[..., Any]) -> Callable[..., Any]:
    """Call the structs' after-callbacks last struct first."""

    def model_hooks(self: Extensions, field: str) -> list[Any]:
        found: list[Any] = right(self, field)
        return found[::-1] if field == "after_chat_model" else found

    return model_hooks


def _adapted_last(right: Callable[..., Any]) -> Callable[..., Any]:
    """Put the layers of adapted structs behind those of the handlers."""

    def wrappers(self: Extensions, kind: str) -> Iterator[ToolLayer]:
        found: list[ToolLayer] = list(right(self, kind))
        yield from (each for each in found if each.factory is None)
        yield from (each for each in found if each.factory is not None)

    return wrappers


def _no_model_hooks(_: object) -> Callable[..., list[Any]]:
    return lambda *_: []


def _no_wraps(right: Callable[..., None]) -> Callable[..., None]:
    """Wrap streamed calls by nothing but what is no struct."""

    def made(
        self: ToolOnion, kind: str, layers: Sequence[ToolLayer], **how: bool
    ) -> None:
        left = [each for each in layers if each.name.hook != "wrap_tool_call"]
        right(self, kind, left if kind == "streamable" else layers, **how)

    return made


def _sharing(option: str) -> Callable[[Any], Any]:
    """Share state objects as under another posture."""

    def replaced(right: Callable[..., None]) -> Callable[..., None]:
        def made(self: LegacyPass, hooks: Sequence[Any], profile: Profile) -> None:
            right(self, hooks, choosing(profile, "state_object", option))

        return made

    return replaced


def _binding(option: str) -> Callable[[Any], Any]:
    """Call factories as under another posture."""

    def replaced(right: Callable[..., None]) -> Callable[..., None]:
        def made(
            self: Binder,
            found: Extensions,
            config: Any,  # noqa: ANN401  # as Binder
            under: Profile,
            **how: bool,
        ) -> None:
            chosen = choosing(under, "wrapper_factory", option)
            right(self, found, config, chosen, **how)

        return made

    return replaced


def _broken(
    id_: str, about: str, clause: str, patch: Patch, under: str = "seed-001"
) -> Mutant:
    wrong = patched(id_, patch)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong, under=under)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _broken(
        "native-after-hooks-unwound",
        "Native after-callbacks are called last struct first, adapted ones forwards.",
        "COMPAT-001",
        Patch(Extensions, "model_hooks", _unwound),
    ),
    _broken(
        "adapted-layers-innermost",
        "Tool wrappers of adapted structs stand inside those of the handlers.",
        "COMPAT-002",
        Patch(Extensions, "_wrappers", _adapted_last),
    ),
    _broken(
        "native-callbacks-dropped",
        "An engine that deprecates structs no longer calls their callbacks.",
        "COMPAT-003",
        Patch(Extensions, "model_hooks", _no_model_hooks),
        under="eino-0.9",
    ),
    _broken(
        "native-stream-wrappers-dropped",
        "Streamed calls are not wrapped by structs.",
        "COMPAT-003",
        Patch(ToolOnion, "__init__", _no_wraps),
    ),
    _broken(
        "state-of-a-struct",
        "Every struct is given a state object of its own.",
        "COMPAT-004",
        Patch(LegacyPass, "__init__", _sharing("per_middleware")),
    ),
    _broken(
        "state-of-an-iteration",
        "Before- and after-callbacks of an iteration are given one state object.",
        "COMPAT-004",
        Patch(LegacyPass, "__init__", _sharing("per_iteration")),
    ),
    _broken(
        "factories-a-run",
        "Factories of tool wrappers are called again in every run.",
        "COMPAT-005",
        Patch(Binder, "__init__", _binding("per_run")),
    ),
    _broken(
        "factories-a-call",
        "Factories of tool wrappers are called for every call.",
        "COMPAT-005",
        Patch(Binder, "__init__", _binding("per_call")),
    ),
    _broken(
        "factories-once",
        "Factories are called once, where they are called for every run.",
        "COMPAT-005",
        Patch(Binder, "__init__", _binding("once_a_tool")),
        under="eino-0.9",
    ),
)
