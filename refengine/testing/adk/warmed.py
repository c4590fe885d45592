"""What a first session of ADK imports, imported by playing one.

The framework imports 500 modules when it first needs them: half a second of each child
that plays anything. The process that children are copies of has them from here. One
module it tries to import in each run where the extra of it is not installed, which
costs a tenth of the run: from here on that fails at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

from google.adk.agents import LlmAgent

from refengine.testing.scenario_files import read_scenario
from refengine.testing.subjects import play_alone
from refengine.testing.world import World

FIRST: Final = {
    "agent": {"tools": [{"name": "t", "result": "ok"}]},
    "model_script": ["assistant:[c1:t({})]", "assistant:done"],
    "runs": [{"input": ["user:go"]}],
}
TRIED: Final = "google.adk.agents.remote_a2a_agent"
"""Needs an extra of the framework's, and is asked for in each run."""


def subject(world: World) -> object:
    """Return an agent with a tool; one with agents below it would log a warning."""
    adk = world.as_adk()
    return LlmAgent(name="first", model=adk.model, tools=[*adk.tools])


def _fail_at_once(module: str) -> None:
    """Have an import of a module that cannot be imported fail without a search."""
    try:
        import_module(module)
    except ImportError:
        sys.modules[module] = None  # type: ignore[assignment]  # as the import system documents it


play_alone(read_scenario(FIRST, "the first session"), subject)
_fail_at_once(TRIED)
