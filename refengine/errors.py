"""Every error of the engine, one class a cause; the message says what to do.

    RefengineError
    ├── ConfigurationError (ValueError)      an agent that cannot be built
    │   ├── MaxIterationsError               max_iterations is not a whole number ≥ 1
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
    │   └── HandlerArgumentError             a helper or built-in handler is misused
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
    ├── UnknownToolNameError (LookupError)   a handler names a tool that is not there
    ├── NoCheckpointsError                   a run is to be kept, but nothing keeps it
    ├── Refused (TypeError)                  a value that would not come back the same
    └── NotKeepableError (TypeError)         the same, and whose hook put it in

Those of runs that go on are in ``refengine.resume.errors``, those of what is kept and
where in ``refengine.state.errors`` and ``store_errors``.

Contract §2 (ERR) and the decisions below its table.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from string import Formatter
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeVar, cast, dataclass_transform

_E = TypeVar("_E", bound=Exception)


def shortened(value: object) -> str:
    """Return the value's repr, cut so that a message stays a line or two."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def suggestion(given: str, known: Sequence[str]) -> str:
    """Return a question that names what was perhaps meant; nothing if nothing was."""
    close = difflib.get_close_matches(given, known, 1)
    return f"did you mean {close[0]!r}? " if close else ""


_CONVERSIONS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "c": shortened,
        "j": ", ".join,
        "l": lambda items: shortened(list(items)),
        "t": lambda value: type(value).__name__,
        "v": lambda path: path or "the value",
    }
)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def error(cls: type[_E]) -> type[_E]:
    """Give an error class an ``__init__`` that takes its fields, in their order."""
    return dataclass(eq=False, repr=False, match_args=False)(cls)


class _Filled(Formatter):
    """Fills what an error says in from its attributes.

    Besides Python's conversions: ``c`` is a repr that is cut, ``l`` the same of a list
    with these items, ``j`` the items joined, ``t`` the name of the type, and ``v`` a
    key path, which is empty for the value itself.
    """

    def get_value(self, key: int | str, args: object, kwargs: object) -> object:  # noqa: ARG002  # as it is called
        return getattr(kwargs, str(key))

    def convert_field(self, value: Any, conversion: Any) -> Any:  # noqa: ANN401  # of any type
        found = _CONVERSIONS.get(conversion)
        if found is None:
            return super().convert_field(value, conversion)
        return found(value)


_FILLED: Final = _Filled()


class RefengineError(Exception):
    """What every error of this package is.

    ``says`` is its message, filled in from its fields (see ``error``).
    """

    says: ClassVar[str] = ""

    def __post_init__(self) -> None:
        super().__init__(_FILLED.vformat(self.says, (), cast("Any", self)))


class ConfigurationError(RefengineError, ValueError):
    """The agent cannot be built from what was given."""


@error
class MaxIterationsError(ConfigurationError):
    """``max_iterations`` is a whole number of at least 1; a bool is none."""

    got: object
    says = "max_iterations={got!r} ({got!t}): give a whole number of at least 1"


@error
class TooManyExtensionsError(ConfigurationError):
    """More extensions than the engine promises to run (contract DEEP)."""

    given: int
    limit: int
    says = (
        "{given} struct middlewares and handlers, but at most {limit} are run:"
        " merge some of them"
    )


@error
class SameExtensionTwiceError(ConfigurationError):
    """One object stands at two positions, so its state would be entered twice."""

    name: str
    first: int
    second: int
    says = (
        "handler {name!r} is the same object at positions {first} and {second}:"
        " make a second one if both are meant"
    )


@error
class EqualNamesError(ConfigurationError):
    """Two handlers have one name, and the profile refuses that."""

    name: str
    first: int
    second: int
    says = (
        "the handlers at positions {first} and {second} are both named {name!r}:"
        " rename one, or use a profile with equal_handler_names=numbered"
    )


@error
class NoHookError(ConfigurationError):
    """An extension needs a ``name`` and at least one hook."""

    extension: object
    missing: str
    hooks: Iterable[str]
    says = (
        "{extension!c} has no {missing}: an extension needs a name and one of {_choice}"
    )

    @property
    def _choice(self) -> str:
        return ", ".join(sorted(self.hooks))


@error
class MisspeltHookError(ConfigurationError):
    """A public method is named almost like a hook and would never be called."""

    extension: str
    method: str
    suggestion: str
    says = (
        "handler {extension!r} has a method {method!r}, which is not a hook:"
        " did you mean {suggestion!r}? (a private helper starts with '_')"
    )


class MixedCapabilityError(ConfigurationError):
    """An object with ``before_agent`` is a handler and has no capability methods.

    Nor does one stand beside the very ``hook`` that it is another name of.
    """

    says = (
        "handler {extension!r} has {hook} and {methods!j}:"
        " move what those do into hooks of a handler"
    )

    def __init__(
        self, extension: str, methods: Iterable[str], hook: str = "before_agent"
    ) -> None:
        self.extension: str = extension
        self.methods: tuple[str, ...] = tuple(methods)
        self.hook: str = hook
        self.__post_init__()


@error
class NotAsyncError(ConfigurationError):
    """A wrapper has to await ``next``, so it has to be ``async def``."""

    owner: str
    method: str
    says = "{method} of {owner!r} is not async: write 'async def'"


@error
class ToolKindError(ConfigurationError):
    """A tool or a model has ``invoke``, ``stream`` or both."""

    what: str
    says = "{what} has neither invoke nor stream: give it one"


@error
class NotAToolError(ConfigurationError):
    """Something stands among the tools that is none."""

    got: object
    says = (
        "{got!c} is not a tool: give an object with info=ToolInfo(name)"
        " and an async invoke, stream or both"
    )


@error
class FieldTypeError(ConfigurationError):
    """A field of the agent's configuration is of another type."""

    field: str
    got: object
    wanted: str
    says = "{field}={got!c} ({got!t}): give {wanted}"


@error
class InputError(ConfigurationError):
    """A run is given messages."""

    got: object
    says = "run() got {got!c} ({got!t}): give a list or tuple of Message(role, content)"


@error
class RetryPolicyError(ConfigurationError):
    """A field of ``ModelRetry`` is nothing that can be followed."""

    field: str
    got: object
    wanted: str
    says = "ModelRetry: {field}={got!c} ({got!t}): give {wanted}"


class UnknownProfileError(RefengineError, LookupError):
    """No profile has that name."""

    says = "no profile {name!r}: {_hint}known are {known!j}"

    def __init__(self, name: str, known: Iterable[str], suggestion: str | None) -> None:
        self.name: str = name
        self.known: tuple[str, ...] = tuple(known)
        self.suggestion: str | None = suggestion
        self.__post_init__()

    @property
    def _hint(self) -> str:
        return f"did you mean {self.suggestion!r}? " if self.suggestion else ""


@error
class IncompleteProfileError(RefengineError, ValueError):
    """A profile gives no value, or an unknown one, for a posture.

    ``allowed`` is empty for a posture that profiles of its kind do not have.
    """

    profile: str
    posture: str
    got: object
    allowed: str
    says = "profile {profile!r}{_wrong}"

    @property
    def _wrong(self) -> str:
        if not self.allowed:
            return f": there is no posture {self.posture!r}: leave it out"
        if self.got is None:
            wanted = f"give it one of {self.allowed}"
            return f" has no value for posture {self.posture}: {wanted}"
        return f", posture {self.posture}: {self.got!r} is not one of {self.allowed}"


@error
class HookError(RefengineError):
    """A hook of an extension raised; leaving its chain it is wrapped once."""

    handler: str
    position: int
    hook: str
    cause: Exception
    _: KW_ONLY
    tool: str | None = None
    call_id: str | None = None
    says = (
        "{hook} of {handler!r} (position {position}){_around} raised {cause!t}: {cause}"
    )

    @property
    def _around(self) -> str:
        return f" around tool {self.tool!r} (call {self.call_id})" if self.tool else ""


@error
class HookReturnError(RefengineError, TypeError):
    """A hook gave back None or another shape than its kind asks for."""

    handler: str
    hook: str
    got: object
    wanted: str
    says = "{hook} of {handler!r} returned {got!c}{_forgot}: it has to return {wanted}"

    @property
    def _forgot(self) -> str:
        return " (is a 'return' missing?)" if self.got is None else ""


@error
class NotKnownAtBuild(RefengineError):
    """The run's input and options are asked for before there is a run."""

    field: str
    says = (
        "config.{field} is not known at build: under posture before_agent=build"
        " before_agent runs once, before any run;"
        " use before_model_rewrite_history, or a profile with before_agent=run"
    )


@error
class ModelError(RefengineError):
    """The model itself raised, not a wrapper around it."""

    cause: Exception
    says = "the model raised {cause!t}: {cause}"


@error
class ModelAnswerError(RefengineError, TypeError):
    """The model gave back something else than its method has to."""

    got: object
    wanted: str
    says = "the model returned {got!c}: it has to be {wanted}"


@error
class WillRetryError(RefengineError):
    """The stream of an attempt broke, and the model will be asked again.

    ``cause`` is what was raised; ``attempt`` is counted from 1 in each iteration. The
    stream of the last attempt breaks with another error.
    """

    attempt: int
    cause: Exception
    says = (
        "attempt {attempt} at the model broke off ({cause!t}:"
        " {cause}) and is made again: discard what this stream gave"
    )


@error
class RetriesExhaustedError(RefengineError):
    """Every attempt that the policy allows has failed; ``last`` is the last error."""

    attempts: int
    last: Exception
    says = (
        "the model failed in each attempt ({attempts}), in the last one with: {last}."
        " Raise max_retries of ModelRetry, or give it a model to fall_back on"
    )

    def __post_init__(self) -> None:
        self.__cause__: BaseException | None = self.last
        super().__post_init__()


@error
class RetryFunctionError(RefengineError):
    """A function of ``ModelRetry`` raised, or returned what nobody can follow.

    ``got`` is what it raised or returned, ``during`` the error it was asked about.
    """

    function: str
    got: object
    wanted: str
    during: Exception
    says = (
        "{function} of ModelRetry {_what} {got!c} after {during!t}: {during};"
        " it has to return {wanted}"
    )

    @property
    def _what(self) -> str:
        return "raised" if isinstance(self.got, Exception) else "returned"


@error
class ToolError(RefengineError):
    """The tool itself raised, not a wrapper around it."""

    tool: str
    call_id: str
    cause: Exception
    says = "tool {tool!r} (call {call_id}) raised {cause!t}: {cause}"


@error
class ToolResultTypeError(RefengineError, TypeError):
    """A tool gives back text; anything else would reach the model as its repr."""

    tool: str
    got: object
    says = (
        "tool {tool!r} returned {got!t}, not str:"
        " turn the result into text inside the tool"
    )


class ToolNotFound(RefengineError, LookupError):
    """The model called a tool that is not in the set."""

    says = (
        "the model called tool {name!r}; available: {_have}."
        " Set tools_config.unknown_tools_handler to answer such calls"
    )

    def __init__(self, name: str, available: Iterable[str]) -> None:
        self.name: str = name
        self.available: tuple[str, ...] = tuple(available)
        self.__post_init__()

    @property
    def _have(self) -> str:
        return ", ".join(self.available) or "none"


@error
class NoMessagesLeftError(RefengineError):
    """After-hooks left an empty history, so nothing decides how to go on."""

    says = (
        "the after-model hooks left no message:"
        " leave at least the message that decides how the run goes on"
    )


@error
class RoutingError(RefengineError):
    """The loop cannot go on with the message that the after-hooks left last."""

    wanted: str
    got: str
    says = (
        "the model called tools, but the after-model hooks left {got} last:"
        " {wanted} is needed there"
    )


class UnansweredCallsError(RefengineError):
    """The model would be sent tool calls without results, which a profile refuses."""

    says = (
        "tool calls {call_ids!l} have no result in what the model is sent: keep each"
        " call together with its result, or use a profile with unanswered_calls=sent"
    )

    def __init__(self, call_ids: Iterable[str]) -> None:
        self.call_ids: tuple[str, ...] = tuple(call_ids)
        self.__post_init__()


@error
class MaxIterationsExceededError(RefengineError):
    """The run used up its iterations, and the profile makes that an error."""

    limit: int
    says = (
        "no final answer after {limit} iterations: raise max_iterations,"
        " or use a profile with exhaustion=outcome"
    )


@error
class NoRunLocalError(RefengineError):
    """Run-local values live in a run; there is none around this context."""

    key: str
    says = (
        "run-local value {key!r}: this context belongs to no run"
        " (before_agent is called before the run has state)"
    )


@error
class NotInToolCallError(RefengineError):
    """An action was to be attached where no tool call is running."""

    says = (
        "attach_action works inside a tool or a tool wrapper:"
        " there is no tool call around this point"
    )


@error
class StreamConsumedError(RefengineError):
    """A stream is a single pass, and this one was read, converted or closed."""

    says = (
        "this stream was already read, converted or closed:"
        " read the one that convert_stream returned, or keep the chunks"
    )


@error
class StreamBrokenOffError(RefengineError):
    """A stream ended before its end, because its run did."""

    says = (
        "the run was left or cancelled before this stream ended, the rest is lost:"
        " read it to its end inside 'async with', or treat it as cut off"
    )


@error
class InterruptInStreamError(RefengineError):
    """A stream was open already when its source asked: its chunks cannot be undone."""

    says = (
        "a stream was interrupted after it was opened:"
        " interrupt before the reader is returned, in the tool or in a wrapper"
    )


@error
class InterruptTooEarlyError(RefengineError):
    """``before_agent`` comes before the run, so there is nothing to go on with."""

    handler: str
    says = (
        "before_agent of {handler!r} raised Interrupt, before there is a run:"
        " ask in before_model_rewrite_history, or in the tool itself"
    )


@error
class InterruptOutsideHookError(RefengineError):
    """A function asked that is not a hook: it has no place to go on from."""

    function: str
    says = (
        "{function} raised Interrupt, and nobody could answer it:"
        " ask in a tool, in a wrapper or in a hook of a pipeline"
    )


@error
class HandlerArgumentError(ConfigurationError):
    """A helper or a built-in handler is given something it cannot use."""

    owner: str
    got: object
    wanted: str
    says = "{owner} got {got!c} ({got!t}): give {wanted}"


class UnknownToolNameError(RefengineError, LookupError):
    """A handler names tools that are not in the set it was given."""

    says = (
        "{owner}: no tool is named {names!l}; {_hint}"
        "at this position there are {available!l}"
    )

    def __init__(
        self, owner: str, names: Iterable[str], available: Iterable[str]
    ) -> None:
        self.owner: str = owner
        self.names: tuple[str, ...] = tuple(names)
        self.available: tuple[str, ...] = tuple(available)
        self.__post_init__()

    @property
    def _hint(self) -> str:
        return suggestion(self.names[0], self.available)


@error
class NoCheckpointsError(RefengineError):
    """A run is to be kept or resumed by an agent that has nothing to keep it in."""

    method: str
    key: object
    says = (
        "{method}() got checkpoint {key!c}, but this agent keeps none:"
        " build it with ChatModelAgentConfig(checkpoints=Checkpoints(store))"
    )


@error
class Refused(RefengineError, TypeError):
    """A value would not come back as it is; ``path`` says where in it.

    ``got`` is the name of its type, ``advice`` what to do. At the border of a run this
    becomes a NotKeepableError, which says whose hook it was too.
    """

    path: str
    got: str
    advice: str
    says = "{path!v} ({got}) cannot be kept: {advice}"

    def at(self, handler: str | None, hook: str | None) -> NotKeepableError:
        """Return the error that says too which hook of which handler put it in."""
        return NotKeepableError(handler, hook, self.path, self.got, self.advice)


@error
class NotKeepableError(RefengineError, TypeError):
    """A hook put in what would not come back the same from a checkpoint."""

    handler: str | None
    hook: str | None
    path: str
    got: str
    advice: str
    says = "{_by}{path!v} ({got}) cannot be kept: {advice}"

    @property
    def _by(self) -> str:
        whose = f" of {self.handler!r}" if self.handler is not None else ""
        return f"{self.hook or 'the caller'}{whose}: " if self.hook or whose else ""


class MixedExtensionsWarning(UserWarning):
    """One agent has struct middlewares and handlers (seed 000 §5.4)."""
