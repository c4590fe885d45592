"""Every error of the engine, one class a cause; the message says what to do.

    RefengineError
    ├── ConfigurationError (ValueError)      an agent that cannot be built
    │   ├── MaxIterationsError               max_iterations is no whole number ≥ 1
    │   ├── TooManyExtensionsError           more than MAX_EXTENSIONS
    │   ├── SameExtensionTwiceError          one object stands in the list twice
    │   ├── EqualNamesError                  two handlers have one name
    │   ├── NoHookError                      an extension without name or hook
    │   ├── MisspeltHookError                a method named almost like a hook
    │   ├── MixedCapabilityError             handler and capability methods together
    │   ├── NotAsyncError                    a wrapper or tool method that cannot wait
    │   ├── ToolKindError                    a tool or model without invoke and stream
    │   ├── NotAToolError                    something else stands among the tools
    │   ├── FieldTypeError                   a field of a configuration has another type
    │   ├── InputError                       run() is given something but messages
    │   └── HandlerArgumentError             a helper or built-in handler is misused
    ├── UnknownProfileError (LookupError)    no profile of that name
    ├── IncompleteProfileError (ValueError)  a posture without a value
    ├── HookError                            a hook raised; ``cause`` is what it raised
    ├── HookReturnError (TypeError)          a hook gave back another shape
    ├── NotKnownAtBuild                      the run's input was asked for at build
    ├── ModelError                           the model raised
    ├── ModelAnswerError (TypeError)         the model gave back something else
    ├── ToolError                            the tool itself raised
    ├── ToolResultTypeError (TypeError)      a tool gave back something but text
    ├── ToolNotFound (LookupError)           the model called a tool it does not have
    ├── NoMessagesLeftError                  after-hooks left no message
    ├── RoutingError                         the loop cannot go on with what was left
    ├── UnansweredCallsError                 a history with a call without its result
    ├── MaxIterationsExceededError           exhaustion, if a profile makes it one
    ├── NoRunLocalError                      a run-local value outside a run
    ├── NotInToolCallError                   an action outside a tool call
    ├── StreamConsumedError                  a stream was read twice
    ├── StreamBrokenOffError                 a stream that lost its rest with a reader
    └── UnknownToolNameError (LookupError)   a handler names a tool that is not there

Contract §2 (ERR) and the decisions below its table.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class RefengineError(Exception):
    """What every error of this package is."""


class ConfigurationError(RefengineError, ValueError):
    """The agent cannot be built from what was given."""


class MaxIterationsError(ConfigurationError):
    """``max_iterations`` is a whole number of at least 1; a bool is none."""

    def __init__(self, got: object) -> None:
        self.got = got
        super().__init__(
            f"max_iterations={got!r} ({type(got).__name__}):"
            " give a whole number of at least 1"
        )


class TooManyExtensionsError(ConfigurationError):
    """More extensions than the engine promises to run (contract DEEP)."""

    def __init__(self, given: int, limit: int) -> None:
        self.given = given
        self.limit = limit
        super().__init__(
            f"{given} struct middlewares and handlers, but at most {limit} are run:"
            " merge some of them"
        )


class SameExtensionTwiceError(ConfigurationError):
    """One object stands at two positions, so its state would be entered twice."""

    def __init__(self, name: str, first: int, second: int) -> None:
        self.name = name
        self.first = first
        self.second = second
        super().__init__(
            f"handler {name!r} is the same object at positions {first} and {second}:"
            " make a second one if both are meant"
        )


class EqualNamesError(ConfigurationError):
    """Two handlers have one name, and the profile refuses that."""

    def __init__(self, name: str, first: int, second: int) -> None:
        self.name = name
        self.first = first
        self.second = second
        super().__init__(
            f"the handlers at positions {first} and {second} are both named {name!r}:"
            " rename one, or use a profile with equal_handler_names=numbered"
        )


class NoHookError(ConfigurationError):
    """An extension needs a ``name`` and at least one hook."""

    def __init__(self, extension: object, missing: str, hooks: Iterable[str]) -> None:
        self.extension = extension
        self.missing = missing
        super().__init__(
            f"{shortened(extension)} has no {missing}: an extension needs a name"
            f" and one of {', '.join(sorted(hooks))}"
        )


class MisspeltHookError(ConfigurationError):
    """A public method is named almost like a hook and would never be called."""

    def __init__(self, extension: str, method: str, suggestion: str) -> None:
        self.extension = extension
        self.method = method
        self.suggestion = suggestion
        super().__init__(
            f"handler {extension!r} has a method {method!r}, which is no hook:"
            f" did you mean {suggestion!r}? (a private helper starts with '_')"
        )


class MixedCapabilityError(ConfigurationError):
    """An object with ``before_agent`` is a handler and has no capability methods.

    Nor does one stand beside the very ``hook`` that it is another name of.
    """

    def __init__(
        self, extension: str, methods: Iterable[str], hook: str = "before_agent"
    ) -> None:
        self.extension = extension
        self.methods = tuple(methods)
        self.hook = hook
        super().__init__(
            f"handler {extension!r} has {hook} and {', '.join(self.methods)}:"
            " move what those do into hooks of a handler"
        )


class NotAsyncError(ConfigurationError):
    """A wrapper has to await ``next``, so it has to be ``async def``."""

    def __init__(self, owner: str, method: str) -> None:
        self.owner = owner
        self.method = method
        super().__init__(f"{method} of {owner!r} is not async: write 'async def'")


class ToolKindError(ConfigurationError):
    """A tool or a model has ``invoke``, ``stream`` or both."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} has neither invoke nor stream: give it one")


class NotAToolError(ConfigurationError):
    """Something stands among the tools that is none."""

    def __init__(self, got: object) -> None:
        self.got = got
        super().__init__(
            f"{shortened(got)} is no tool: give an object with info=ToolInfo(name)"
            " and an async invoke, stream or both"
        )


class FieldTypeError(ConfigurationError):
    """A field of the agent's configuration is of another type."""

    def __init__(self, field: str, got: object, wanted: str) -> None:
        self.field = field
        self.got = got
        super().__init__(
            f"{field}={shortened(got)} ({type(got).__name__}): give {wanted}"
        )


class InputError(ConfigurationError):
    """A run is given messages."""

    def __init__(self, got: object) -> None:
        self.got = got
        super().__init__(
            f"run() got {shortened(got)} ({type(got).__name__}):"
            " give a list or tuple of Message(role, content)"
        )


class UnknownProfileError(RefengineError, LookupError):
    """No profile has that name."""

    def __init__(self, name: str, known: Iterable[str], suggestion: str | None) -> None:
        self.name = name
        self.known = tuple(known)
        self.suggestion = suggestion
        hint = f"did you mean {suggestion!r}? " if suggestion else ""
        super().__init__(
            f"no profile {name!r}: {hint}known are {', '.join(self.known)}"
        )


class IncompleteProfileError(RefengineError, ValueError):
    """A profile gives no value, or an unknown one, for a posture."""

    def __init__(self, profile: str, posture: str, got: object, allowed: str) -> None:
        self.profile = profile
        self.posture = posture
        self.got = got
        super().__init__(
            f"profile {profile!r}, posture {posture}: {got!r} is not one of {allowed}"
        )


class HookError(RefengineError):
    """A hook of an extension raised; leaving its chain it is wrapped once."""

    def __init__(
        self,
        handler: str,
        position: int,
        hook: str,
        cause: Exception,
        *,
        tool: str | None = None,
        call_id: str | None = None,
    ) -> None:
        self.handler = handler
        self.position = position
        self.hook = hook
        self.cause = cause
        self.tool = tool
        self.call_id = call_id
        around = f" around tool {tool!r} (call {call_id})" if tool else ""
        super().__init__(
            f"{hook} of {handler!r} (position {position}){around} raised"
            f" {type(cause).__name__}: {cause}"
        )


class HookReturnError(RefengineError, TypeError):
    """A hook gave back None or another shape than its kind asks for."""

    def __init__(self, handler: str, hook: str, got: object, wanted: str) -> None:
        self.handler = handler
        self.hook = hook
        self.got = got
        self.wanted = wanted
        forgot = " (is a 'return' missing?)" if got is None else ""
        super().__init__(
            f"{hook} of {handler!r} returned {shortened(got)}{forgot}:"
            f" it has to return {wanted}"
        )


class NotKnownAtBuild(RefengineError):
    """The run's input and options are asked for before there is a run."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(
            f"config.{field} is not known at build: under posture before_agent=build"
            " before_agent runs once, before any run;"
            " use before_model_rewrite_history, or a profile with before_agent=run"
        )


class ModelError(RefengineError):
    """The model itself raised, not a wrapper around it."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(f"the model raised {type(cause).__name__}: {cause}")


class ModelAnswerError(RefengineError, TypeError):
    """The model gave back something else than its method has to."""

    def __init__(self, got: object, wanted: str) -> None:
        self.got = got
        super().__init__(f"the model returned {shortened(got)}: it has to be {wanted}")


class ToolError(RefengineError):
    """The tool itself raised, not a wrapper around it."""

    def __init__(self, tool: str, call_id: str, cause: Exception) -> None:
        self.tool = tool
        self.call_id = call_id
        self.cause = cause
        super().__init__(
            f"tool {tool!r} (call {call_id}) raised {type(cause).__name__}: {cause}"
        )


class ToolResultTypeError(RefengineError, TypeError):
    """A tool gives back text; anything else would reach the model as its repr."""

    def __init__(self, tool: str, got: object) -> None:
        self.tool = tool
        self.got = got
        super().__init__(
            f"tool {tool!r} returned {type(got).__name__}, not str:"
            " turn the result into text inside the tool"
        )


class ToolNotFound(RefengineError, LookupError):
    """The model called a tool that is not in the set."""

    def __init__(self, name: str, available: Iterable[str]) -> None:
        self.name = name
        self.available = tuple(available)
        have = ", ".join(self.available) or "none"
        super().__init__(
            f"the model called tool {name!r}; available: {have}."
            " Set tools_config.unknown_tools_handler to answer such calls"
        )


class NoMessagesLeftError(RefengineError):
    """After-hooks left an empty history, so nothing decides how to go on."""

    def __init__(self) -> None:
        super().__init__(
            "the after-model hooks left no message:"
            " leave at least the message that decides how the run goes on"
        )


class RoutingError(RefengineError):
    """The loop cannot go on with the message that the after-hooks left last."""

    def __init__(self, wanted: str, got: str) -> None:
        self.wanted = wanted
        self.got = got
        super().__init__(
            f"the model called tools, but the after-model hooks left {got} last:"
            f" {wanted} is needed there"
        )


class UnansweredCallsError(RefengineError):
    """The model would be sent tool calls without results, which a profile refuses."""

    def __init__(self, call_ids: Iterable[str]) -> None:
        self.call_ids = tuple(call_ids)
        super().__init__(
            f"tool calls {shortened(list(self.call_ids))} have no result in what the"
            " model is sent: keep each call together with its result,"
            " or use a profile with unanswered_calls=sent"
        )


class MaxIterationsExceededError(RefengineError):
    """The run used up its iterations, and the profile makes that an error."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"no final answer after {limit} iterations: raise max_iterations,"
            " or use a profile with exhaustion=outcome"
        )


class NoRunLocalError(RefengineError):
    """Run-local values live in a run; there is none around this context."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"run-local value {key!r}: this context belongs to no run"
            " (before_agent is called before the run has state)"
        )


class NotInToolCallError(RefengineError):
    """An action was to be attached where no tool call is running."""

    def __init__(self) -> None:
        super().__init__(
            "attach_action works inside a tool or a tool wrapper:"
            " there is no tool call around this point"
        )


class StreamConsumedError(RefengineError):
    """A stream is a single pass, and this one was read, converted or closed."""

    def __init__(self) -> None:
        super().__init__(
            "this stream was already read, converted or closed:"
            " read the one that convert_stream returned, or keep the chunks"
        )


class StreamBrokenOffError(RefengineError):
    """A stream ended before its end, because its run did."""

    def __init__(self) -> None:
        super().__init__(
            "the run was left or cancelled before this stream ended, the rest is lost:"
            " read it to its end inside 'async with', or treat it as cut off"
        )


class HandlerArgumentError(ConfigurationError):
    """A helper or a built-in handler is given something it cannot use."""

    def __init__(self, owner: str, got: object, wanted: str) -> None:
        self.owner = owner
        self.got = got
        self.wanted = wanted
        super().__init__(
            f"{owner} got {shortened(got)} ({type(got).__name__}): give {wanted}"
        )


class UnknownToolNameError(RefengineError, LookupError):
    """A handler names tools that are not in the set it was given."""

    def __init__(
        self, owner: str, names: Iterable[str], available: Iterable[str]
    ) -> None:
        self.owner = owner
        self.names = tuple(names)
        self.available = tuple(available)
        close = difflib.get_close_matches(self.names[0], self.available, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        super().__init__(
            f"{owner}: no tool is named {shortened(list(self.names))}; {hint}"
            f"at this position there are {shortened(list(self.available))}"
        )


def shortened(value: object) -> str:
    """Return the value's repr, cut so that a message stays a line or two."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


class MixedExtensionsWarning(UserWarning):
    """One agent has struct middlewares and handlers (seed 000 §5.4)."""
