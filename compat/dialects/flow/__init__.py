"""The Flow dialect: processors around a model, with callbacks and plugins.

Seed 003 describes it. Its extension points are processors of a request, callbacks of an
agent and plugins of a runner. The names of ``public.py`` are brought in at their first
use: commands that only name a profile import this package, and stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.dialects.flow.public import *  # noqa: F403  # as __getattr__ gives them


def __getattr__(name: str) -> object:
    if name.startswith("__"):  # the import system asks for some
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("compat.dialects.flow.public"), name)
