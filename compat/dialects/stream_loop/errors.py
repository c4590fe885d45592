"""What goes wrong in a stream loop, one class a cause; the message says what to do.

LoopError
├── IterationLimitError (ValueError)   max_iterations is not a whole number from 1 on
├── LimitValueError (ValueError)       a limit that nothing could be held to
├── LoopToolMissingError (LookupError) the model called a tool that is not there
├── ToolOutputError (TypeError)        a tool gave something that is not a result
├── RoundTimedOutError (TimeoutError)  a round took longer than it may
├── ToolTimedOutError (TimeoutError)   a tool took longer than it may
├── ToolCancelledError                 a tool ended as if it had been cancelled
├── TooManyCallsError                  more calls in a round than may be executed
├── ArgumentsTooLongError              the arguments of a call are too long
└── ResultTooLongError                 so is what a tool gave

EmptyPromptWarning is given where a loop ends because there is nothing to ask, and
CallbackFailedWarning where the callback fails that is told of failures.
"""

from __future__ import annotations

from refengine.errors import RefengineError, error


class LoopError(RefengineError):
    """What every error of this dialect is."""


class EmptyPromptWarning(UserWarning):
    """A result asks for another round, and the next prompt has no text."""


class CallbackFailedWarning(UserWarning):
    """``on_error`` itself raised, and there is nobody left to tell."""


@error
class IterationLimitError(LoopError, ValueError):
    """``max_iterations`` is a whole number of at least 1; a bool is none."""

    got: object
    says = "max_iterations={got!r} ({got!t}): give a whole number of at least 1"


@error
class LimitValueError(LoopError, ValueError):
    """A limit is a positive number, or None where there is none."""

    limit: str
    got: object
    wanted: str
    says = "Limits({limit}={got!c}): give {wanted}, or None for no limit"


@error
class LoopToolMissingError(LoopError, LookupError):
    """The model called a tool by a name that none has."""

    name: str
    known: tuple[str, ...]
    says = "no tool {name!r}: give one of that name to process_input; it has {known!l}"


@error
class ToolOutputError(LoopError, TypeError):
    """A tool gave something that is neither text nor a ToolOutput."""

    name: str
    got: object
    says = "tool {name!r} gave {got!c} ({got!t}): return a text, or a ToolOutput"


@error
class RoundTimedOutError(LoopError, TimeoutError):
    """A round was not over in its time."""

    round: int
    seconds: float
    says = "round {round} took over {seconds} s: raise Limits(round_seconds=)"


@error
class ToolTimedOutError(LoopError, TimeoutError):
    """A tool was not done in its time."""

    name: str
    seconds: float
    says = "tool {name!r} took over {seconds} s: raise Limits(tool_seconds=)"


@error
class ToolCancelledError(LoopError):
    """A tool ended in a CancelledError, though nobody cancelled the run."""

    name: str
    says = "tool {name!r} was cancelled from inside: let it return, or raise an error"


@error
class TooManyCallsError(LoopError):
    """A call stands behind those that one round may execute."""

    name: str
    limit: int
    says = (
        "call of {name!r}: a round executes at most {limit} calls: raise"
        " Limits(calls_per_round=)"
    )


@error
class ArgumentsTooLongError(LoopError):
    """A call has arguments of more characters than allowed; it is not executed."""

    name: str
    length: int
    limit: int
    says = (
        "call of {name!r}: {length} characters of arguments, at most {limit} are"
        " allowed: raise Limits(argument_chars=)"
    )


@error
class ResultTooLongError(LoopError):
    """A result has more characters than may be fed back."""

    name: str
    length: int
    limit: int
    says = (
        "tool {name!r}: a result of {length} characters, at most {limit} are allowed:"
        " raise Limits(result_chars=)"
    )
