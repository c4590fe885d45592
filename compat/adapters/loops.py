"""Linear processors of the stream loop as loops over the same steps."""

from __future__ import annotations

from typing import Any, Final

from compat.adapters.errors import OwnRoundsError
from compat.dialects.stream_loop.linear import LinearProcessor
from compat.dialects.stream_loop.loop import LoopProcessor

LOOPS_OWN: Final = ("process_input", "process_rounds")
"""Steps that the two forms have each for itself: they are how often a round is run."""


def loop_of(linear: LinearProcessor) -> LoopProcessor:
    """Return a loop with the model, the settings and the overridden steps of a linear.

    Where no result asks for a follow-up the two do the same (LOOP-COMPAT). A
    ``process_single_iteration`` of its own has to call that of its base class, where
    the loop looks for results that ask. Raises OwnRoundsError.
    """
    if isinstance(linear, LoopProcessor):
        return linear
    kind = type(linear)
    own = tuple(
        name
        for name in LOOPS_OWN
        if getattr(kind, name) is not getattr(LinearProcessor, name)
    )
    if own:
        raise OwnRoundsError(kind.__name__, own)
    if kind is LinearProcessor:
        made: LoopProcessor = LoopProcessor.__new__(LoopProcessor)
    else:
        # The steps that were overridden stand before the loop's, and call them.
        bases: Any = (kind, LoopProcessor)  # a checker cannot order what it has as one
        joined: Any = type(kind.__name__, bases, {})
        made = joined.__new__(joined)
    vars(made).update(vars(linear))
    return made
