"""Taking out of exchanges what must not reach a file."""

from compat.wire.scrubbing.scrubber import (
    KEPT,
    RULES,
    RULES_VERSION,
    Scrubber,
    credentials_of,
)

__all__ = ["KEPT", "RULES", "RULES_VERSION", "Scrubber", "credentials_of"]
