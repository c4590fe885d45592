"""What a vendor's model can do, by its name and by where it is asked.

A schema for the answer together with tools; names of uploaded files, which the Gemini
API refuses and Vertex AI takes.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from compat.dialects.flow.agents import LlmAgent

if TYPE_CHECKING:
    from compat.dialects.flow.profile import FlowProfile

VERTEX_VARIABLE: Final = "GOOGLE_GENAI_USE_VERTEXAI"

LAST_WITHOUT: Final = 2.5
"""The last version of Gemini of which the Gemini API takes no schema beside tools."""

_GEMINI: Final = re.compile(r"(?:.*/)?gemini-(\d+)")
_VERSION: Final = re.compile(r"(?:.*/)?gemini-(\d+(?:\.\d+)?)")


def on_vertex() -> bool:
    """Tell whether the environment says that models are asked through Vertex AI."""
    return os.environ.get(VERTEX_VARIABLE, "").lower() in {"1", "true"}


def is_gemini(name: str, at_least: int = 1) -> bool:
    """Tell whether a model is a Gemini of that generation or a later one."""
    found = _GEMINI.match(name)
    return found is not None and int(found[1]) >= at_least


def takes_schema_natively(agent: LlmAgent, profile: FlowProfile) -> bool:
    """Tell whether the agent's model takes its output schema as it is.

    Without tools any model does. With tools it depends on the model, and in some
    versions on where it is asked.
    """
    if not (agent.tools or agent.toolsets):
        return True
    name = "" if agent.model is None else agent.model.name
    return takes_schema_with_tools(name, profile)


def takes_schema_with_tools(name: str, profile: FlowProfile) -> bool:
    """Tell whether a model of that name takes a schema and tools together."""
    if profile.native_schema == "all_but_older_gemini":
        return on_vertex() or not _is_older_gemini(name)
    return is_gemini(name, at_least=2) and (
        profile.native_schema == "by_model" or on_vertex()
    )


def _is_older_gemini(name: str) -> bool:
    """Tell whether a model is a Gemini of version 2.5 or an earlier one."""
    found = _VERSION.match(name)
    return found is not None and float(found[1]) <= LAST_WITHOUT
