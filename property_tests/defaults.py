"""What the commands do unless they are told otherwise.

Their help shows these, before anything that judges is loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

EXAMPLES: Final = 400
"""So many generated worlds a judgement has, beside the fixed cases."""

SEED: Final = 0
"""What the generated worlds are drawn with."""

TIMEOUT: Final = 30.0
"""Seconds that one world may take."""

REPEATS: Final = 20
"""So often each order of real delays is played where a profile is inferred."""

FAILURES: Final = Path(".refengine", "failures")
"""Where failure files are written and looked for."""
