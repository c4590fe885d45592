"""Instructions with places that the session fills: ``{name}`` and ``{artifact.name}``.

A place is braces with a name between them; all braces on a side count as one, so that
doubled ones are not an escape. What is not a name stays as it is written, as
JSON does. An instruction that a provider returned has no places.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from compat.dialects.flow.errors import (
    NoArtifactError,
    NoArtifactsError,
    NoVariableError,
)
from compat.dialects.flow.go_text import percent_v
from compat.dialects.flow.values import plain

if TYPE_CHECKING:
    from compat.dialects.flow.content import Part
    from compat.dialects.flow.profile import FlowProfile
    from refengine.messages import Json

ArtifactLoader: TypeAlias = "Callable[[str], Awaitable[Part | None]]"
"""Returns the newest version of a file, or None for one that was never saved."""

SCOPES: Final = ("app", "user", "temp")
"""What may stand before a name, with a colon."""

_PLACE: Final = re.compile(r"{+[^{}]*}+")
_UNESCAPED_PLACE: Final = re.compile(r"(?<![\$\{\\]){+[^{}]*}+")
_ARTIFACT: Final = "artifact."


async def fill_template(
    template: str,
    state: Mapping[str, Json],
    load: ArtifactLoader | None,
    profile: FlowProfile,
) -> str:
    """Return the template with its places filled from state and artifacts.

    Raises NoVariableError, NoArtifactError or NoArtifactsError for a place that cannot
    be filled; one with a ``?`` behind its name is then empty, unless nothing keeps
    artifacts at all.
    """
    escapes = profile.template_escapes == "backslash_and_dollar"
    filled: list[str] = []
    end = 0
    for place in (_UNESCAPED_PLACE if escapes else _PLACE).finditer(template):
        filled.append(template[end : place.start()])
        filled.append(await _filled(place.group(), state, load, profile))
        end = place.end()
    return "".join([*filled, template[end:]])


async def _filled(
    place: str,
    state: Mapping[str, Json],
    load: ArtifactLoader | None,
    profile: FlowProfile,
) -> str:
    inside = place.strip("{}").strip()
    name = inside.removesuffix("?")
    optional = name != inside
    if name.startswith(_ARTIFACT):
        file = name.removeprefix(_ARTIFACT)
        return await _artifact(file, load, profile, optional=optional)
    if not is_variable(name):
        return place
    if name not in state:
        if optional:
            return ""
        raise NoVariableError(name)
    return _written(state[name], profile)


def is_variable(name: str) -> bool:
    """Tell whether a name can stand in the state: an identifier, perhaps with a scope.

    What an identifier is differs between Go and Python only in rare marks of scripts.
    """
    scope, colon, rest = name.partition(":")
    if colon:
        return scope in SCOPES and rest.isidentifier()
    return name.isidentifier()


def _written(value: Json, profile: FlowProfile) -> str:
    if value is None:
        return ""
    return percent_v(value) if profile.value_text == "percent_v" else str(plain(value))


async def _artifact(
    file: str, load: ArtifactLoader | None, profile: FlowProfile, *, optional: bool
) -> str:
    if load is None:
        raise NoArtifactsError(file)
    part = await load(file) if file else None
    if part is None:
        if optional:
            return ""
        raise NoArtifactError(file)
    return part.text if profile.artifact_text == "text" else _printed(part)


def _printed(part: Part) -> str:
    """Return a part of text as the vendor's class prints it, all its fields by name."""
    before = "media_resolution code_execution_result executable_code file_data"
    calls = "function_call function_response inline_data"
    behind = "thought_signature video_metadata tool_call tool_response part_metadata"
    fields = dict.fromkeys(f"{before} {calls} text thought {behind}".split())
    given = {"text": part.text, "thought": part.thought or None}
    return " ".join(f"{name}={given.get(name)!r}" for name in fields)
