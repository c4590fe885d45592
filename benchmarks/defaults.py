"""What the command line shows before anything is loaded."""

from __future__ import annotations

from typing import Final

PEERS: Final = (
    "langchain",
    "langgraph",
    "google-adk",
    "pydantic-ai",
    "agent-framework",
    "strands",
    "flow",
)
"""Other frameworks, by the names that ``--peer`` takes; ``flow`` is our dialect."""
OWN_PEERS: Final = frozenset(("flow",))
"""Those of them that are this house's own, and no other framework."""
TIMES: Final = 100
MOST_APART: Final = 5
"""Of a hundred A/A comparisons, so many may be told apart."""
FAIL_ABOVE: Final = 1.2
"""``bench compare``: a row that became dearer than this fails."""
