"""Capability objects as handlers (seed 000 P0.1).

The engine takes capability objects as they are; this is for who wants the handler, to
hand it to another adapter or to look at its hooks.
"""

from __future__ import annotations

from compat.adapters.errors import NoCapabilityError
from refengine.capabilities import as_hooks
from refengine.helpers import HelperHandler
from refengine.hooks import CAPABILITY_HOOKS, hooks_of


def handler_of(capability: object) -> HelperHandler:
    """Return the handler that a capability object stands for (seed 000 P0.1).

    ``modify_instruction`` and ``modify_tools`` become ``before_agent``, in that order,
    and the processors of the message state the two history hooks; wrappers have the
    names of hooks already. Raises NoCapabilityError, or what build_agent() says about
    an object that is no extension.
    """
    name, found = hooks_of(capability, set())
    if CAPABILITY_HOOKS.isdisjoint(found):
        raise NoCapabilityError(name, found)
    return HelperHandler(name, **as_hooks(found))
