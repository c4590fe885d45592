"""The callbacks dialect: who is told what of a session, and who keeps it.

Seed 004 describes it: a session manager has the life of a session, clients have what a
user sees, and each callback reaches each of its owners once. It runs on the engine.
The names of ``public.py`` are brought in at their first use: commands that only name a
profile import this package, and stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.dialects.callbacks.public import *  # noqa: F403  # as __getattr__ gives them


def __getattr__(name: str) -> object:
    if name.startswith("__"):  # the import system asks for some
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("compat.dialects.callbacks.public"), name)
