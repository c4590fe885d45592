"""The two ways a graph can be run, and the errors that say it cannot be run so.

A hook that is only async fails in ``invoke``, and one that is only plain may fail in
``ainvoke``. That is how a graph is called, not what it does, so a session is played
again the other way (verdicts, channel k).
"""

from __future__ import annotations

import re
from typing import Final

from refengine.testing.subjects import Way

_ONE_WAY: Final = {
    "sync": re.compile(
        r"No synchronous function provided"
        r"|Synchronous implementation of \w+ is not available"
        r"|does not support sync invocation"
        r"|does not support synchronous invocation"
    ),
    "async": re.compile(
        r"Asynchronous implementation of \w+ is not available"
        r"|does not support async"
        r"|No asynchronous function provided"
    ),
}
"""What the frameworks say; tests hold it against the installed ones."""


def cannot_run(way: Way, error: BaseException) -> bool:
    """Tell whether a graph failed only because of the way in which it was run."""
    if not isinstance(error, (TypeError, NotImplementedError)):
        return False
    return _ONE_WAY[way].search(str(error)) is not None
