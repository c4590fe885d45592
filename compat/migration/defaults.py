"""What a migration check does unless it is told otherwise.

The command line shows these in its help, before anything that judges is loaded.
"""

from __future__ import annotations

from typing import Final

EXAMPLES: Final = 100
"""So many generated worlds a corpus has, beside the fixed ones."""

TIMEOUT: Final = 10.0
"""Seconds that one world may take on one side."""
