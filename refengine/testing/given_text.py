"""JSON and TOML that somebody gives: what is nested too deep is wrong like what is cut.

Python's readers end with a RecursionError there, which is no ValueError, so a file of
brackets would look like a fault of whoever reads it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any, Final

DEEP: Final = "nested too deep to be read"


def read_json(
    text: str | bytes, parse_constant: Callable[[str], Any] | None = None
) -> Any:  # noqa: ANN401  # what a file holds, before it is looked at
    """Return the value that a text means; raises json.JSONDecodeError."""
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise json.JSONDecodeError(DEEP, "", 0) from None


def unread(error: ValueError, kind: str) -> str:
    """Return why a text is none of its kind, such as "JSON"."""
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 text ({error.reason})"
    return f"is not {kind}: {error}"


def problem(message: str) -> str:
    """Return what pydantic says of a value, in our words where it has its own."""
    said = " ".join(message.removeprefix("Value error, ").split())
    return {"Field required": "is missing"}.get(said, said)


def read_toml(text: str) -> dict[str, Any]:
    """Return the tables of a text; raises tomllib.TOMLDecodeError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(DEEP) from None
