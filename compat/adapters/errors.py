"""What cannot be put in another interface's place, one class a cause.

AdapterError
├── NoStructError (TypeError)       adapt() was given something but structs
├── NoCapabilityError (TypeError)   handler_of() was given no capability object
├── NotCarriedError (TypeError)     the other interface has no place for it
├── ChangedContextError             a struct's hook cannot hand a context on
├── NoCallbackError (LookupError)   a callback is to become a plugin and is not there
├── WiderScopeError (ValueError)    as a plugin, a callback would be asked for others
├── FlippedOrderError (ValueError)  as a plugin, a callback would overtake another one
├── NotReachedError (ValueError)    no plugin of the runner is asked where it stands
└── OwnRoundsError (ValueError)     a linear processor runs rounds in a way of its own
"""

from __future__ import annotations

from refengine.errors import RefengineError, error


class AdapterError(RefengineError):
    """What every error of the adapters is."""


@error
class NoStructError(AdapterError, TypeError):
    """``adapt`` takes the list of struct middlewares, and nothing else."""

    position: int
    got: object
    says = (
        "middlewares[{position}] is {got!r} ({got!t}) and no AgentMiddleware:"
        " put handlers into handlers= as they are"
    )


@error
class NoCapabilityError(AdapterError, TypeError):
    """The object has none of the capability methods of seed 000 P0.1."""

    name: str
    hooks: tuple[str, ...]
    says = (
        "{name!r} has {hooks!j} and no capability method: it is a handler already,"
        " so use it as it is"
    )


@error
class NotCarriedError(AdapterError, TypeError):
    """A part of a handler for which the older interface has no place."""

    handler: str
    part: str
    target: str
    remedy: str
    says = "{part} of {handler!r} has no place in {target}: {remedy}"


@error
class ChangedContextError(AdapterError):
    """A model hook returned another context, and a struct's hook returns nothing."""

    handler: str
    hook: str
    says = (
        "{hook} of {handler!r} returned another context, which a struct middleware"
        " cannot hand on: keep the value with set_run_local(), or leave this one in"
        " handlers="
    )


@error
class NoCallbackError(AdapterError, LookupError):
    """A callback is named that the agents do not have, or they have none at all."""

    root: str
    place: str
    says = "the tree of agent {root!r} has not {place}: name callbacks that it has"


@error
class WiderScopeError(AdapterError, ValueError):
    """A plugin is asked for every agent, and these did not have the callback."""

    place: object
    others: tuple[str, ...]
    says = (
        "{place} would be asked for {others!j} as well, since a plugin is the whole"
        " runner's: port it with scope='agent'"
    )


@error
class FlippedOrderError(AdapterError, ValueError):
    """A plugin is asked before every callback, so also before these."""

    place: object
    others: tuple[str, ...]
    says = (
        "{place} would no longer stand where it does beside {others!j}, since plugins"
        " are asked first: move those too, all agents' in one order, or leave it"
    )


@error
class NotReachedError(AdapterError, ValueError):
    """A callback of an agent that is called as a tool, in a run of its own."""

    place: object
    others: tuple[str, ...]
    says = (
        "{place} is inside tool {others!j}, whose agents have a runner of their own:"
        " leave it there"
    )


@error
class OwnRoundsError(AdapterError, ValueError):
    """A linear processor has steps of its own where the loop has its rounds."""

    processor: str
    steps: tuple[str, ...]
    says = (
        "{processor} overrides {steps!j}, which a loop has of its own: move what they"
        " do into process_single_iteration, or write a LoopProcessor"
    )
