"""The stream-loop dialect: a streamed answer, its tools, and perhaps another round.

Seed 002 describes it, a decision record on how to let a model go on after its tools.
The names of ``public.py`` are brought in at their first use: commands that only name a
profile import this package, and stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.dialects.stream_loop.public import *  # noqa: F403  # as __getattr__ gives them


def __getattr__(name: str) -> object:
    if name.startswith("__"):  # the import system asks for some
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("compat.dialects.stream_loop.public"), name)
