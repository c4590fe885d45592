"""What goes wrong in a flow, one class a cause; the message says where and what to do.

FlowError
├── ValueReadError (ValueError)        JSON that is not a value of its class
├── EmptyResponseError                 a chunk in which the vendor said nothing
├── ResponsesMixedError (ValueError)   one event with responses to calls of several
├── NoCallFoundError (ValueError)      responses to calls that the history does not have
├── NoVariableError (KeyError)         a template names what the state does not have
├── NoArtifactError (KeyError)         a template names a file that is not there
├── NoArtifactsError (ValueError)      a template names a file, and nothing keeps files
├── TransferArgumentError (ValueError) transfer_to_agent without the name of an agent
└── AgentNotFoundError (LookupError)   a transfer to nobody whom the agent may reach
"""

from __future__ import annotations

from collections.abc import Sequence

from refengine.errors import RefengineError, error


class FlowError(RefengineError):
    """What every error of this dialect is."""


@error
class ValueReadError(FlowError, ValueError):
    """Written data does not fit the class that it is read as."""

    path: str
    got: object
    wanted: str
    says = "{path}: {got!c} ({got!t}) is not {wanted}"


@error
class EmptyResponseError(FlowError):
    """A model sent a chunk without any candidate in it."""

    says = "empty response: the model sent a chunk without a candidate; ask it again"


@error
class ResponsesMixedError(FlowError, ValueError):
    """The last event answers calls of another event than the one it follows."""

    calls: Sequence[str]
    responses: Sequence[str]
    says = (
        "validation failed: the last event has responses {responses!l}, but the event"
        " it answers has calls {calls!l}; answer each event of calls in one of its own"
    )


@error
class NoCallFoundError(FlowError, ValueError):
    """The last event has responses, and no event before it has their calls."""

    responses: Sequence[str]
    says = (
        "no function call event found for function responses ids: {responses!l};"
        " send a response only to a call that the session has"
    )


class _LookedUpError(FlowError, KeyError):
    """What a template names and cannot be had; a KeyError prints its message quoted."""

    def __str__(self) -> str:
        return str(self.args[0])


@error
class NoVariableError(_LookedUpError):
    """A variable of an instruction is not in the state and not optional."""

    name: str
    says = (
        "{{{name}}}: state key does not exist; set it, or write {{{name}?}} for an"
        " optional one"
    )


@error
class NoArtifactError(_LookedUpError):
    """A file that an instruction names was never saved and is not optional."""

    name: str
    says = (
        "failed to load artifact {name}: it was not saved; save it, or write"
        " {{artifact.{name}?}} for an optional one"
    )


@error
class NoArtifactsError(FlowError, ValueError):
    """An instruction names a file, and the runner has nothing that keeps files."""

    name: str
    says = (
        "{{artifact.{name}}}: artifact service is not initialized; give the runner an"
        " artifact_service"
    )


@error
class TransferArgumentError(FlowError, ValueError):
    """``transfer_to_agent`` was called without a name, or with one that is not text."""

    got: object
    says = "transfer_to_agent: agent_name={got!c} ({got!t}): give the name of an agent"


@error
class AgentNotFoundError(FlowError, LookupError):
    """A transfer names an agent that does not exist or may not be reached."""

    name: str
    known: Sequence[str]
    says = "failed to find agent: {name}; it may transfer to {known!l}"
