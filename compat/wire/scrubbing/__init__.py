"""Taking out of exchanges what must not reach a file."""

from compat.wire.scrubbing.scrubber import KEPT, RULES, RULES_VERSION, Scrubber

__all__ = ["KEPT", "RULES", "RULES_VERSION", "Scrubber"]
