"""Loading a stream loop by the text that names it: what can be played, or why not."""

from __future__ import annotations

from typing import cast

from compat.engines.dialect_loading import load_dialect_engine
from compat.engines.stream_loop.capabilities import LOOP_CAPABILITIES
from compat.engines.stream_loop.doors import StreamLoopEngine


def load_stream_loop(name: str, profile: str | None = None) -> StreamLoopEngine:
    """Return the stream loop that a text names, under a profile if one is asked for.

    Raises LoadError, or UnknownProfileError for a profile that there is not.
    """
    why = "a stream loop processes a call, await process(call)"
    known = LOOP_CAPABILITIES
    engine = load_dialect_engine(name, profile, method="process", why=why, known=known)
    return cast("StreamLoopEngine", engine)
