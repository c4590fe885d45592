"""Whether a function has to be awaited, and doing so where it is not known."""

from __future__ import annotations

import inspect
from typing import Any


def is_async(function: object) -> bool:
    """Tell whether calling it gives a coroutine, also through a callable object."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # its type matters
    )


async def settled(value: Any) -> Any:  # noqa: ANN401  # whatever a hook gave
    """Return the value, awaited if it has to be: pipeline hooks may be plain."""
    return await value if inspect.isawaitable(value) else value
