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
    │   ├── RetryPolicyError                 a ModelRetry that cannot be followed
    │   ├── HandlerArgumentError             a helper or built-in handler is misused
    │   ├── TypeNameError                    a name that no type can be registered by
    │   ├── TypeTakenError                   a name or a class is registered already
    │   ├── TypesFrozenError                 a type is registered after the first use
    │   ├── UpgradesError                    not one upgrade for each earlier version
    │   └── UnfitTypeError                   a class that cannot be registered this way
    ├── UnknownProfileError (LookupError)    no profile of that name
    ├── IncompleteProfileError (ValueError)  a posture without a value
    ├── HookError                            a hook raised; ``cause`` is what it raised
    ├── HookReturnError (TypeError)          a hook gave back another shape
    ├── NotKnownAtBuild                      the run's input was asked for at build
    ├── ModelError                           the model raised
    ├── ModelAnswerError (TypeError)         the model gave back something else
    ├── WillRetryError                       a stream broke, the model is asked again
    ├── RetriesExhaustedError                every attempt at the model has failed
    ├── RetryFunctionError                   retry_on or backoff is of no use
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
    ├── InterruptInStreamError               an interrupt in a stream that is open
    ├── InterruptTooEarlyError               an interrupt before there is a run
    ├── InterruptOutsideHookError            an interrupt that nobody could answer
    ├── JournalledError                      an error of a call that was made before
    ├── UnknownToolNameError (LookupError)   a handler names a tool that is not there
    ├── NoCheckpointsError                   a run is to be kept, but nothing keeps it
    ├── CheckpointNotFoundError (LookupError)  no run is kept under that key
    ├── CheckpointConflictError              another step of that number is kept
    ├── NotResumableError                    the run under that key is at its end
    ├── UnknownInterruptError (LookupError)  an answer to what nobody asked
    ├── ChangedAgentError                    the run was another agent's
    ├── Refused (TypeError)                  a value that would not come back the same
    ├── NotKeepableError (TypeError)         the same, and whose hook put it in
    └── StateError                           what was kept cannot be read
        ├── UnknownTypeError (LookupError)   it names a type that is not registered
        ├── DecodeError                      the code of a registered type raised
        └── BadTreeError (ValueError)        no packed value: Types.pack made it not

Contract §2 (ERR) and the decisions below its table.
"""

from __future__ import annotations

import difflib
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


class RetryPolicyError(ConfigurationError):
    """A field of ``ModelRetry`` is nothing that can be followed."""

    def __init__(self, field: str, got: object, wanted: str) -> None:
        self.field = field
        self.got = got
        super().__init__(
            f"ModelRetry: {field}={shortened(got)} ({type(got).__name__}):"
            f" give {wanted}"
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


class WillRetryError(RefengineError):
    """The stream of an attempt broke, and the model will be asked again.

    ``cause`` is what was raised; ``attempt`` is counted from 1 in each iteration. The
    stream of the last attempt breaks with another error.
    """

    def __init__(self, attempt: int, cause: Exception) -> None:
        self.attempt = attempt
        self.cause = cause
        super().__init__(
            f"attempt {attempt} at the model broke off ({type(cause).__name__}:"
            f" {cause}) and is made again: discard what this stream gave"
        )


class RetriesExhaustedError(RefengineError):
    """Every attempt that the policy allows has failed; ``last`` is the last error."""

    def __init__(self, attempts: int, last: Exception) -> None:
        self.attempts = attempts
        self.last = last
        self.__cause__ = last
        super().__init__(
            f"all {attempts} attempts at the model failed, at last: {last}."
            " Raise max_retries of ModelRetry, or give it a model to fall_back on"
        )


class RetryFunctionError(RefengineError):
    """A function of ``ModelRetry`` raised, or returned what nobody can follow.

    ``got`` is what it raised or returned, ``during`` the error it was asked about.
    """

    def __init__(
        self, function: str, got: object, wanted: str, during: Exception
    ) -> None:
        self.function = function
        self.got = got
        self.during = during
        what = "raised" if isinstance(got, Exception) else "returned"
        super().__init__(
            f"{function} of ModelRetry {what} {shortened(got)} after"
            f" {type(during).__name__}: {during}; it has to return {wanted}"
        )


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


class InterruptInStreamError(RefengineError):
    """A stream was open already when its source asked: its chunks cannot be undone."""

    def __init__(self) -> None:
        super().__init__(
            "a stream was interrupted after it was opened:"
            " interrupt before the reader is returned, in the tool or in a wrapper"
        )


class InterruptTooEarlyError(RefengineError):
    """``before_agent`` comes before the run, so there is nothing to go on with."""

    def __init__(self, handler: str) -> None:
        self.handler = handler
        super().__init__(
            f"before_agent of {handler!r} raised Interrupt, before there is a run:"
            " ask in before_model_rewrite_history, or in the tool itself"
        )


class InterruptOutsideHookError(RefengineError):
    """A function asked that is no hook: it has no place to go on from."""

    def __init__(self, function: str) -> None:
        self.function = function
        super().__init__(
            f"{function} raised Interrupt, and nobody could answer it:"
            " ask in a tool, in a wrapper or in a hook of a pipeline"
        )


class JournalledError(RefengineError):
    """An error that a call had raised before the run was interrupted, raised again.

    ``kind`` is the name of its class then; its text is the same. The class itself does
    not come back, because nothing is imported that stored data names: only what is in
    ``JOURNALLED`` is caught by its class again. For all else catch this and ask for
    ``kind``.
    """

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        super().__init__(text)

    def __str__(self) -> str:
        return self.text


JOURNALLED: Final[Mapping[str, type[JournalledError]]] = MappingProxyType(
    {
        each.__name__: type(f"Journalled{each.__name__}", (JournalledError, each), {})
        for each in (
            *(ArithmeticError, AssertionError, AttributeError, ConnectionError),
            *(ImportError, IndexError, KeyError, LookupError),
            *(NotImplementedError, OSError),
            *(PermissionError, RuntimeError, TimeoutError, TypeError, ValueError),
        )
    }
)
"""Python's own errors that a wrapper may catch by their class, also after a resume."""


def journalled(kind: str, text: str, base: str | None = None) -> JournalledError:
    """Return an error of that class, as far as it can come back, with that text.

    ``base`` is the nearest class of its own that is in ``JOURNALLED``.
    """
    return JOURNALLED.get(base or kind, JournalledError)(kind, text)


def base_of(error: Exception) -> str | None:
    """Return the nearest class by which it is caught also after a resume, if any."""
    names = (each.__name__ for each in type(error).__mro__ if _is_python_s(each))
    return next((name for name in names if name in JOURNALLED), None)


def _is_python_s(cls: type) -> bool:
    return cls.__module__ == "builtins"


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


class NoCheckpointsError(RefengineError):
    """A run is to be kept or resumed by an agent that has nothing to keep it in."""

    def __init__(self, method: str, key: object) -> None:
        self.method = method
        self.key = key
        super().__init__(
            f"{method}() got checkpoint {shortened(key)}, but this agent keeps none:"
            " build it with ChatModelAgentConfig(checkpoints=Checkpoints(store))"
        )


class CheckpointNotFoundError(RefengineError, LookupError):
    """No run is kept under that key; ``close`` are keys almost like it."""

    def __init__(self, key: str, close: Iterable[str] = ()) -> None:
        self.key = key
        self.close = tuple(close)
        names = " or ".join(shortened(each) for each in self.close)
        hint = f"did you mean {names}?" if names else "no key there is like it;"
        super().__init__(
            f"no checkpoint {shortened(key)}: {hint}"
            " a run is kept by agent.run(..., checkpoint=KEY)"
        )


class CheckpointConflictError(RefengineError):
    """A step came that is not the next one: ``have`` steps are kept under the key."""

    def __init__(self, key: str, seq: int, have: int) -> None:
        self.key = key
        self.seq = seq
        self.have = have
        super().__init__(
            f"checkpoint {shortened(key)}: step {seq} does not follow, {have} are kept"
            f" there: {_how_to_follow(seq, have)}"
        )


class NotResumableError(RefengineError):
    """The run under that key has come to its end: there is nothing to go on with."""

    def __init__(self, key: str, status: str | None) -> None:
        self.key = key
        self.status = status
        super().__init__(
            f"checkpoint {shortened(key)} is of a run that ended ({status}):"
            " start another one by agent.run, with a key of its own"
        )


class UnknownInterruptError(RefengineError, LookupError):
    """An answer is addressed to an interrupt that does not wait in this run."""

    def __init__(self, given: str, pending: Iterable[str]) -> None:
        self.given = given
        self.pending = tuple(pending)
        close = difflib.get_close_matches(given, self.pending, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        waiting = ", ".join(map(repr, self.pending)) or "none"
        super().__init__(
            f"no interrupt waits at {shortened(given)}: {hint}waiting: {waiting};"
            " give answers by str(address), as RunResult.interrupts has it"
        )


class ChangedAgentError(RefengineError):
    """A run was kept by an agent that differs from this one in ``what``."""

    def __init__(self, what: str, stored: object, now: object) -> None:
        self.what = what
        self.stored = stored
        self.now = now
        super().__init__(
            f"this run was kept with {what} {shortened(stored)}, and the agent has"
            f" {shortened(now)}: resume it with an agent built as the first one was"
        )


class TypeNameError(ConfigurationError):
    """A type is registered by a name that stands in stored data from then on."""

    def __init__(self, name: object) -> None:
        self.name = name
        super().__init__(
            f"type name {shortened(name)}: give a text that is not empty and has no"
            " '$', and keep to it, also when the class is renamed"
        )


class TypeTakenError(ConfigurationError):
    """A name stands for one class, and a class has one name."""

    def __init__(self, name: str, cls: type, taken: str) -> None:
        self.name = name
        self.cls = cls
        super().__init__(
            f"{cls.__qualname__} cannot be registered as {name!r}: {taken};"
            " a name stands for one class, and a class has one name"
        )


class TypesFrozenError(ConfigurationError):
    """A registry that was used does not change: what it wrote, it has to read."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"type {name!r} is registered after the registry was used:"
            " register all types before the first run"
        )


class UpgradesError(ConfigurationError):
    """A type of version n has an upgrade from each version before it to the next."""

    def __init__(self, name: str, version: object, given: Iterable[object]) -> None:
        self.name = name
        self.version = version
        self.given = tuple(given)
        super().__init__(
            f"type {name!r}, version {shortened(version)}, has upgrades from"
            f" {shortened(list(self.given))}: give a version of at least 1 and"
            " one upgrade from each version before it"
        )


class UnfitTypeError(ConfigurationError):
    """A class cannot be registered by this method."""

    def __init__(self, name: str, got: object, why: str) -> None:
        self.name = name
        self.got = got
        super().__init__(f"{shortened(got)} cannot be registered as {name!r}: {why}")


class Refused(RefengineError, TypeError):
    """A value would not come back as it is; ``path`` says where in it.

    ``got`` is the name of its type, ``advice`` what to do. At the border of a run this
    becomes a NotKeepableError, which says whose hook it was too.
    """

    def __init__(self, path: str, got: str, advice: str) -> None:
        self.path = path
        self.got = got
        self.advice = advice
        super().__init__(f"{path or 'the value'} ({got}) cannot be kept: {advice}")

    def at(self, handler: str | None, hook: str | None) -> NotKeepableError:
        """Return the error that says too which hook of which handler put it in."""
        return NotKeepableError(handler, hook, self.path, self.got, self.advice)


class NotKeepableError(RefengineError, TypeError):
    """A hook put in what would not come back the same from a checkpoint."""

    def __init__(
        self, handler: str | None, hook: str | None, path: str, got: str, advice: str
    ) -> None:
        self.handler = handler
        self.hook = hook
        self.path = path
        self.got = got
        self.advice = advice
        whose = f" of {handler!r}" if handler is not None else ""
        by = f"{hook or 'the caller'}{whose}: " if hook or whose else ""
        super().__init__(f"{by}{path or 'the value'} ({got}) cannot be kept: {advice}")


class StateError(RefengineError):
    """What every error of reading what was kept is."""


class UnknownTypeError(StateError, LookupError):
    """Stored data names a type, or a version of one, that this registry has not."""

    def __init__(
        self, name: str, version: int, path: str, known: int | None, hint: str = ""
    ) -> None:
        self.name = name
        self.version = version
        self.path = path
        self.known = known
        has = "no such type" if known is None else f"version {known} of it"
        super().__init__(
            f"{path or 'the value'} is a {name!r}, version {version}, and this registry"
            f" has {has}: register it, or read with Types(keep_unknown=True){hint}"
        )


class DecodeError(StateError):
    """The code by which a type is read, or brought up to its version, raised."""

    def __init__(self, name: str, version: int, path: str, what: str) -> None:
        self.name = name
        self.version = version
        self.path = path
        super().__init__(
            f"{path or 'the value'}, a {name!r} of version {version}: {what};"
            " if the class has changed, raise its version and give an upgrade"
        )


class BadTreeError(StateError, ValueError):
    """Stored data is no packed value."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(f"{path or 'the value'} {why}: give what Types.pack returned")


def shortened(value: object) -> str:
    """Return the value's repr, cut so that a message stays a line or two."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


class MixedExtensionsWarning(UserWarning):
    """One agent has struct middlewares and handlers (seed 000 §5.4)."""


def _how_to_follow(seq: int, have: int) -> str:
    if seq == 0:
        return "resume that run, or give the new one a key of its own"
    if seq < have:
        return "another process went on with this run, so leave it to that one"
    return "steps before it are not kept, so resume from what is"
