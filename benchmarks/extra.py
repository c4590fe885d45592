"""The libraries of the extra ``bench``, loaded when a number needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from refengine.testing.world import WorldExtraError

EXTRA: Final = "bench"


def scipy_stats() -> Any:  # noqa: ANN401  # a module without types
    """Return ``scipy.stats``; raises MissingExtraError."""
    return _loaded("scipy.stats")


def scipy_optimize() -> Any:  # noqa: ANN401  # as above
    """Return ``scipy.optimize``; raises MissingExtraError."""
    return _loaded("scipy.optimize")


def drawing() -> None:
    """Look whether plots can be drawn; raises MissingExtraError."""
    _loaded("matplotlib")


def _loaded(name: str) -> Any:  # noqa: ANN401  # as above
    try:
        return import_module(name)
    except ImportError as error:
        raise WorldExtraError("refengine bench", EXTRA, error) from error
