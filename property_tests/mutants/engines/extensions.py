"""Engines that are wrong about what an extension is (EXT)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, cast

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import agent, extensions, hooks
from refengine.awaiting import is_async
from refengine.chain import Pipeline
from refengine.errors import EqualNamesError
from refengine.extensions import Extensions
from refengine.hooks import AnyHook
from refengine.loop import Loop
from refengine.messages import ToolCall
from refengine.model import ModelRequest
from refengine.model_calls import ModelCall, ModelOnion
from refengine.profile import Profile, choosing
from refengine.tool_calls import ToolCallRun
from refengine.tools import NO_OPTIONS


def _no_options(right: Callable[..., None]) -> Callable[..., None]:
    """Forget the options of the run where the model is wrapped."""

    def made(
        self: ModelCall, onion: ModelOnion, request: ModelRequest, *rest: object
    ) -> None:
        if onion:
            request = replace(request, options=NO_OPTIONS)
        right(self, onion, request, *rest)

    return made


def _only_configuring(right: Callable[..., Any]) -> Callable[..., Any]:
    """Register only those handlers that have ``before_agent``."""

    def collect(*given: Any) -> Extensions:  # noqa: ANN401  # as the engine's
        found: Extensions = right(*given)
        kept = tuple(each for each in found.handlers if "before_agent" in each.hooks)
        return replace(found, handlers=kept)

    return collect


def _innermost_lost(right: Callable[..., Any]) -> Callable[..., Any]:
    """Lose the innermost of several wrappers around tools."""

    def wrappers(self: Extensions, kind: str) -> Iterator[object]:
        found = list(right(self, kind))
        yield from found[:-1] if len(found) > 1 else found

    return wrappers


def _undeclared(_: object) -> Callable[..., None]:
    return lambda *_: None


def _once(right: Callable[..., Any]) -> Callable[..., Any]:
    """Let an object that stands at two positions act at the first only."""

    def collect(
        middlewares: Sequence[object], handlers: Sequence[object], profile: Profile
    ) -> object:
        seen = {id(each): each for each in handlers}
        return right(middlewares, list(seen.values()), profile)

    return collect


def _plain(_: object) -> Callable[[Sequence[str]], Iterator[str]]:
    return iter


def _refusing(right: Callable[..., Any]) -> Callable[..., Any]:
    def unique(names: Sequence[str]) -> Iterator[str]:
        for at, name in enumerate(names):
            if names.index(name) != at:
                raise EqualNamesError(name, names.index(name), at)
        yield from right(names)

    return unique


def _warning(option: str) -> Callable[[Any], Any]:
    """Warn of struct middlewares as under another posture."""

    def replaced(right: Callable[..., None]) -> Callable[..., None]:
        def warn(found: Extensions, profile: Profile, on_notice: object) -> None:
            right(found, choosing(profile, "struct_middleware", option), on_notice)

        return warn

    return replaced


def _as_json(right: Callable[..., None]) -> Callable[..., None]:
    """Write the arguments of a call anew, where they are JSON."""

    def made(self: ToolCallRun, call: ToolCall, *rest: object) -> None:
        with suppress(ValueError):
            call = replace(call, arguments=json.dumps(json.loads(call.arguments)))
        right(self, call, *rest)

    return made


def _done(right: Callable[..., Any]) -> Callable[..., Any]:
    """Call a completed run done."""

    async def leave(self: Loop) -> None:
        await right(self)
        if self.status == "completed":
            self.status = cast("Any", "done")

    return leave


def _broken(
    id_: str, about: str, clause: str, patch: Patch, under: str = "seed-001"
) -> Mutant:
    wrong = patched(id_, patch)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong, under=under)


def _async_only(right: Callable[..., None]) -> Callable[..., None]:
    def made(self: Pipeline, hooks: Sequence[tuple[Any, AnyHook]]) -> None:
        right(self, [each for each in hooks if is_async(each[1])])

    return made


MUTANTS: Final[tuple[Mutant, ...]] = (
    _broken(
        "arguments-parsed",
        "The arguments of a call are parsed and written anew.",
        "SURF-001",
        Patch(ToolCallRun, "__init__", _as_json),
    ),
    _broken(
        "status-of-its-own",
        "A completed run has a status that the contract does not know.",
        "SURF-002",
        Patch(Loop, "leave", _done),
    ),
    _broken(
        "options-lost-where-wrapped",
        "A model that some handler wraps is called without the options of the run.",
        "EXT-001",
        Patch(ModelCall, "__init__", _no_options),
    ),
    _broken(
        "only-configuring-handlers",
        "A handler without before_agent is not registered at all.",
        "EXT-002",
        Patch(agent, "collect", _only_configuring),
    ),
    _broken(
        "innermost-wrapper-lost",
        "Of several wrappers around tool calls the innermost is skipped.",
        "EXT-002",
        Patch(Extensions, "_wrappers", _innermost_lost),
    ),
    _broken(
        "hooks-set-ignored",
        "Every method with the name of a hook is called, whatever the object declares.",
        "EXT-003",
        Patch(hooks, "_declared", _undeclared),
    ),
    _broken(
        "same-object-accepted",
        "One handler object may stand at two positions.",
        "EXT-004",
        Patch(extensions, "_refuse_same", _undeclared),
    ),
    _broken(
        "same-object-once",
        "An object that stands at two positions acts once.",
        "EXT-004",
        Patch(agent, "collect", _once),
        under="eino-0.9",
    ),
    _broken(
        "equal-names-alike",
        "Handlers of one name are shown by that name alone.",
        "EXT-005",
        Patch(extensions, "_unique", _plain),
    ),
    _broken(
        "equal-names-refused",
        "Handlers of one name are refused where they may have one.",
        "EXT-006",
        Patch(extensions, "_unique", _refusing),
    ),
    _broken(
        "equal-names-accepted",
        "Handlers of one name are accepted where names have to differ.",
        "EXT-006",
        Patch(extensions, "_refuse_equal", _undeclared),
        under="langchain-1",
    ),
    _broken(
        "plain-hooks-skipped",
        "A hook that is a plain function is not called.",
        "EXT-012",
        Patch(Pipeline, "__init__", _async_only),
    ),
    _broken(
        "deprecation-untold",
        "Struct middlewares are deprecated and nobody is warned.",
        "EXT-007",
        Patch(agent, "_warn", _warning("supported")),
        under="eino-0.9",
    ),
    _broken(
        "deprecation-too-early",
        "Struct middlewares are warned about before they are deprecated.",
        "EXT-007",
        Patch(agent, "_warn", _warning("deprecated")),
    ),
)
