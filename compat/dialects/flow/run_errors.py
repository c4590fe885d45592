"""What goes wrong when agents run, one class a cause; the message says where.

FlowError                             (of errors.py, with those of its pure parts)
├── NotJsonError (TypeError)          a state or a result holds what JSON cannot
├── FlowConfigurationError (ValueError)    agents that cannot be run
│   ├── AgentFieldError               a field of an agent holds something else
│   ├── AgentPlaceError               an agent stands twice, or a name does
│   └── PluginNameError               two plugins of one name
├── ModelMissingError                 an agent without a model is to be run
├── ModelCallsExceededError           more model calls than one invocation may make
├── ModelGaveNothingError             a model that gives something but responses
├── DuplicateToolError                two tools of one name, where that is an error
├── UnknownFlowToolError (ValueError) a tool that is not there, and what could be why
├── CallbackReturnError (TypeError)   a callback gave back another type
├── ProcessorReturnError (TypeError)  a processor gave back something but events
├── PluginCallbackError (RuntimeError)    a plugin raised, under a profile that wraps
├── ConfirmationNeededError           a tool that may not run before its user says so
├── ToolArgumentsError (ValueError)   a call whose arguments do not fit its tool
├── InvalidAnswerError (ValueError)   a structured answer that does not fit its schema
├── CalledAgentError                  the model of an agent that is a tool failed
├── PartialEndError                   a step whose last event is partial
├── ConfirmationAnswerError (ValueError)  an answer that cannot be read or used
├── EmptyMessageError (ValueError)    a message of the user without parts
├── MadeUpCallError (ValueError)      a message of the user with calls of its own
├── SessionError (LookupError)        a session that is not there, or is there already
├── StaleSessionError                 a session that somebody else has written since
└── NoArtifactServiceError            artifacts without a service that keeps them
"""

from __future__ import annotations

from collections.abc import Sequence

from compat.dialects.flow.errors import FlowError
from refengine.errors import error


@error
class NotJsonError(FlowError, TypeError):
    """What is to be kept, or told to a model, holds a value that JSON does not have."""

    where: str
    got: object
    says = (
        "{where} is {got!c} ({got!t}): give None, bool, int, finite float, text, and"
        " lists and objects of them"
    )


class FlowConfigurationError(FlowError, ValueError):
    """The agents, or the runner, cannot be used as they are given."""


@error
class AgentFieldError(FlowConfigurationError):
    """A field of an agent holds something that it cannot be run with."""

    agent: str
    field: str
    got: object
    wanted: str
    says = "agent {agent!r}, {field}: {got!c} ({got!t}); give {wanted}"


@error
class AgentPlaceError(FlowConfigurationError):
    """An agent stands at two places of the tree, or two agents have one name."""

    agent: str
    parents: tuple[str, ...]
    says = (
        "agent {agent!r} stands under {parents!j}: give each agent one place and a name"
        " of its own"
    )


@error
class PluginNameError(FlowConfigurationError):
    """Two plugins of one runner have the same name."""

    name: str
    says = "plugin with name {name!r} already registered: give each plugin its own name"


@error
class ModelMissingError(FlowError):
    """An agent is to be run that has no model."""

    agent: str
    says = "agent {agent!r}: model not configured; give LlmAgent(model=...)"


@error
class ModelCallsExceededError(FlowError):
    """One invocation asked its models more often than the profile allows."""

    agent: str
    limit: int
    says = (
        "agent {agent!r}: more than {limit} model calls in one invocation; let a tool"
        " or a callback end the turn"
    )


@error
class ModelGaveNothingError(FlowError, TypeError):
    """A model yields something that is not a response."""

    agent: str
    got: object
    says = "agent {agent!r}: its model gave {got!c} ({got!t}); yield LlmResponse"


@error
class DuplicateToolError(FlowError):
    """Two tools of one agent have the same name."""

    agent: str
    tool: str
    says = 'agent {agent!r}: duplicate tool: "{tool}"; give each tool its own name'


@error
class UnknownFlowToolError(FlowError, ValueError):
    """The model called a tool that is not there, or that cannot be run.

    Its text is what the model is told: adk.md §1.6.
    """

    name: str
    available: tuple[str, ...]
    says = """tool '{name}' not found.
Available tools: {available!j}

Possible causes:
  1. LLM hallucinated the function name - review agent instruction clarity
  2. Tool not registered - verify agent.tools list
  3. Name mismatch - check for typos

Suggested fixes:
  - Review agent instruction to ensure tool usage is clear
  - Verify tool is included in agent.tools list
  - Check for typos in function name"""


@error
class CallbackReturnError(FlowError, TypeError):
    """A callback or a plugin gave back something that its hook cannot use."""

    owner: str
    hook: str
    got: object
    wanted: str
    says = "{owner}, {hook}: gave back {got!c} ({got!t}); give {wanted} or None"


@error
class ProcessorReturnError(FlowError, TypeError):
    """A processor gave back something but events."""

    agent: str
    processor: str
    index: int
    got: object
    says = (
        "agent {agent!r}, processor {index} ({processor}): {got!c} ({got!t}) is no"
        " event; yield Event or nothing"
    )


@error
class PluginCallbackError(FlowError, RuntimeError):
    """A plugin raised; ``__cause__`` is what it raised."""

    plugin: str
    hook: str
    cause: Exception
    says = "Error in plugin {plugin!r} during {hook!r} callback: {cause}"


@error
class ConfirmationNeededError(FlowError):
    """A tool was called that runs only when its user has agreed (adk.md §1.14)."""

    tool: str
    says = 'error tool "{tool}" requires confirmation, please approve or reject'


@error
class ToolArgumentsError(FlowError, ValueError):
    """The model gave a tool arguments that its schema does not have."""

    tool: str
    why: str
    says = "arguments of tool {tool!r}: {why}; give them as its schema says"


@error
class InvalidAnswerError(FlowError, ValueError):
    """What the model gave as its structured answer does not fit the output schema."""

    why: str
    says = "invalid output schema: {why}"


@error
class CalledAgentError(FlowError):
    """The model of an agent that is called as a tool failed, and so did the call."""

    agent: str
    code: str
    why: str
    says = "the model of agent {agent!r}, called as a tool, failed: {code}, {why!r}"


@error
class PartialEndError(FlowError):
    """A step ended on a partial event: what was streamed is kept nowhere."""

    agent: str
    says = (
        "agent {agent!r}: the last event of a step is partial; let the model end its"
        " stream with a whole response"
    )


@error
class ConfirmationAnswerError(FlowError, ValueError):
    """A user's answer to a confirmation cannot be read, or answers no question."""

    call_id: str
    why: str
    says = (
        "answer to confirmation {call_id!r}: {why}; answer a question of this session,"
        " once, with confirmed true or false"
    )


@error
class EmptyMessageError(FlowError, ValueError):
    """The user's message has no parts."""

    session_id: str
    says = (
        "the message for session {session_id!r} has no parts: give a text or a content"
        " with parts"
    )


@error
class MadeUpCallError(FlowError, ValueError):
    """The user's message has calls, or responses to calls that were never made."""

    session_id: str
    calls: Sequence[str]
    unknown: Sequence[str]
    says = (
        "the message for session {session_id!r} has calls {calls!l} and responses to"
        " {unknown!l}: answer only calls that the session has"
    )


@error
class SessionError(FlowError, LookupError):
    """A session is not there, or one that is to be made is there already."""

    app: str
    user_id: str
    session_id: str
    what: str
    says = "session {session_id!r} of app {app!r} and user {user_id!r} {what}"


@error
class StaleSessionError(FlowError):
    """Somebody else has written to the session since it was read."""

    session_id: str
    read: int
    stored: int
    says = (
        "session {session_id!r} was read at revision {read} and is at {stored} now: get"
        " it again"
    )


@error
class NoArtifactServiceError(FlowError):
    """An artifact is asked for or saved, and nothing keeps artifacts."""

    agent: str
    name: str
    says = "agent {agent!r}, artifact {name!r}: give Runner(artifact_service=...)"
