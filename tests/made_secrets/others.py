"""The rules of detect-secrets, to measure beside ours; it has no types of its own."""
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

Flags: TypeAlias = Callable[[str], bool]
"""Whether a scanner finds anything in a line."""
_ENTROPY: Final = frozenset(("Base64 High Entropy String", "Hex High Entropy String"))


def other_rules() -> list[tuple[str, Flags]]:
    """Return the rules of detect-secrets, if it is installed: by shape, and all."""
    try:
        from detect_secrets.core.scan import (  # no dependency
            scan_line,
        )
        from detect_secrets.settings import default_settings  # as above
    except ModuleNotFoundError:
        return []

    def types(text: str) -> set[str]:
        with default_settings():
            return {each.type for each in scan_line(text)}

    return [
        ("detect-secrets, without entropy", lambda text: bool(types(text) - _ENTROPY)),
        ("detect-secrets", lambda text: bool(types(text))),
    ]
