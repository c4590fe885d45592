"""The source of a subject that is loaded: its own file and those beside it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

INSTALLED: Final = "site-packages"


def sources_of(subject: Callable[..., object]) -> tuple[str, ...]:
    """Return the texts of a subject's own modules, none where there are no files.

    Its own are that which defines it and those loaded from the same folder.
    """
    code = getattr(inspect.unwrap(subject), "__code__", None)
    return () if code is None else _texts(code.co_filename, len(sys.modules))


@lru_cache(maxsize=8)
def _texts(first: str, _modules: int) -> tuple[str, ...]:
    """Return the text of a file and of the modules beside it, of so many loaded."""
    folder = Path(first).parent
    files = {first: None}
    for module in list(sys.modules.values()):
        file: object = getattr(module, "__file__", None)
        own = isinstance(file, str) and INSTALLED not in file
        if own and Path(str(file)).is_relative_to(folder):
            files[str(file)] = None
    return tuple(text for text in map(_text, files) if text is not None)


def _text(file: str) -> str | None:
    try:
        return Path(file).read_text("utf-8", "replace")
    except OSError:
        return None
