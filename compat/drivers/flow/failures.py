"""Errors that a Flow engine in another language made itself, in the words of Python.

What a driver says by ``kind`` is stable; texts are for people, and never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from compat.drivers.saying import EngineFailedError


class EngineLookupError(EngineFailedError, LookupError):
    """It looked for something that is not there: an agent, a session."""


class EngineKeyError(EngineFailedError, KeyError):
    """A template names what the state, or what keeps files, does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class EngineValueError(EngineFailedError, ValueError):
    """What it was given cannot be used."""


KINDS: Final[Mapping[str, type[EngineFailedError]]] = MappingProxyType(
    {
        "agent_not_found": EngineLookupError,
        "no_session": EngineLookupError,
        "no_variable": EngineKeyError,
        "no_artifact": EngineKeyError,
        "no_artifacts": EngineValueError,
        "no_call_found": EngineValueError,
        "responses_mixed": EngineValueError,
        "plugin_name": EngineValueError,
        "unknown_tool": EngineValueError,
        "agent_place": EngineValueError,
    }
)
"""What an error of that kind is in Python; one of no other is an exception."""


def said_by_flow_engine(text: str, data: Mapping[str, Any]) -> EngineFailedError:
    """Return the error that a driver told of, which is none of the world's."""
    kind = data.get("kind", "")
    return KINDS.get(kind, EngineFailedError)(text, kind)
