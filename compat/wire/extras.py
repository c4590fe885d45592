"""Libraries of the extra ``wire`` that ship no types, imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from compat.wire.errors import MissingWireExtraError


def library(name: str) -> Any:  # noqa: ANN401  # a module without types
    """Return ``yaml``, ``vcr`` or a module of theirs; raises MissingWireExtraError.

    The name is written by our own code; it never comes from a cassette.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingWireExtraError(name.partition(".")[0]) from error
