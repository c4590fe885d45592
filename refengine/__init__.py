"""A reference engine for agent middleware, small enough to read in one sitting.

The public names, each brought in at its first use: ``import refengine`` costs almost
nothing, because pytest and children that run a subject import it before anything else.
``profile`` is not among them: it would hide the module ``refengine.profile``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refengine.actions import AgentAction
    from refengine.agent import Agent, ChatModelAgentConfig, build_agent
    from refengine.context import (
        Context,
        delete_run_local,
        get_run_local,
        set_run_local,
    )
    from refengine.errors import (
        BadTreeError,
        ChangedAgentError,
        CheckpointConflictError,
        CheckpointNotFoundError,
        ConfigurationError,
        DecodeError,
        EqualNamesError,
        FieldTypeError,
        HandlerArgumentError,
        HookError,
        HookReturnError,
        IncompleteProfileError,
        InputError,
        InterruptInStreamError,
        InterruptOutsideHookError,
        InterruptTooEarlyError,
        JournalledError,
        MaxIterationsError,
        MaxIterationsExceededError,
        MisspeltHookError,
        MixedCapabilityError,
        MixedExtensionsWarning,
        ModelAnswerError,
        ModelError,
        NoCheckpointsError,
        NoHookError,
        NoMessagesLeftError,
        NoRunLocalError,
        NotAsyncError,
        NotAToolError,
        NotInToolCallError,
        NotKeepableError,
        NotKnownAtBuild,
        NotResumableError,
        RefengineError,
        Refused,
        RetriesExhaustedError,
        RetryFunctionError,
        RetryPolicyError,
        RoutingError,
        SameExtensionTwiceError,
        StateError,
        StreamBrokenOffError,
        StreamConsumedError,
        ToolError,
        ToolKindError,
        ToolNotFound,
        ToolResultTypeError,
        TooManyExtensionsError,
        TypeNameError,
        TypesFrozenError,
        TypeTakenError,
        UnansweredCallsError,
        UnfitTypeError,
        UnknownInterruptError,
        UnknownProfileError,
        UnknownToolNameError,
        UnknownTypeError,
        UpgradesError,
        WillRetryError,
    )
    from refengine.events import AgentEvent, Notice
    from refengine.extensions import MAX_EXTENSIONS
    from refengine.helpers import (
        with_after_model_rewrite_history,
        with_before_agent,
        with_before_model_rewrite_history,
        with_global_tool_wrapper,
        with_instruction,
        with_instruction_func,
        with_invokable_tool_wrapper,
        with_remove_tools,
        with_return_directly_on,
        with_streamable_tool_wrapper,
        with_tool_call_logging,
        with_tools,
        with_tools_func,
    )
    from refengine.history import History
    from refengine.hooks import (
        AgentHandler,
        InstructionModifier,
        InvokableToolCallWrapper,
        MessageStatePostProcessor,
        MessageStatePreProcessor,
        ModelEndpoint,
        StreamableToolCallWrapper,
        ToolsModifier,
    )
    from refengine.interrupts import Interrupt, interrupt, is_reentry
    from refengine.messages import (
        Json,
        Message,
        MessageChunk,
        ToolCall,
        ToolCallChunk,
        join_chunks,
    )
    from refengine.middleware import AgentMiddleware, ChatModelAgentState
    from refengine.model import ChatModel, ModelRequest
    from refengine.plan import AgentConfig
    from refengine.profile import PROFILES, SEED_001, Profile
    from refengine.retry import ModelRetry
    from refengine.run import Run, RunResult
    from refengine.scope import attach_action
    from refengine.stream import DROP, StreamReader, convert_stream
    from refengine.tools import (
        Endpoint,
        Options,
        StreamEndpoint,
        StreamToolCallResult,
        Tool,
        ToolCallInput,
        ToolCallResult,
        ToolInfo,
        ToolMeta,
        ToolMiddleware,
        ToolsConfig,
        merge,
        normalise,
    )
    from refengine.values import Types
    from refengine.values_builtin import Opaque

    __version__: str

__all__ = [  # noqa: RUF022  # as sorted() has it, which is what a test can ask
    "Agent",
    "AgentAction",
    "AgentConfig",
    "AgentEvent",
    "AgentHandler",
    "AgentMiddleware",
    "BadTreeError",
    "ChangedAgentError",
    "ChatModel",
    "ChatModelAgentConfig",
    "ChatModelAgentState",
    "CheckpointConflictError",
    "CheckpointNotFoundError",
    "ConfigurationError",
    "Context",
    "DROP",
    "DecodeError",
    "Endpoint",
    "EqualNamesError",
    "FieldTypeError",
    "HandlerArgumentError",
    "History",
    "HookError",
    "HookReturnError",
    "IncompleteProfileError",
    "InputError",
    "InstructionModifier",
    "Interrupt",
    "InterruptInStreamError",
    "InterruptOutsideHookError",
    "InterruptTooEarlyError",
    "InvokableToolCallWrapper",
    "JournalledError",
    "Json",
    "MAX_EXTENSIONS",
    "MaxIterationsError",
    "MaxIterationsExceededError",
    "Message",
    "MessageChunk",
    "MessageStatePostProcessor",
    "MessageStatePreProcessor",
    "MisspeltHookError",
    "MixedCapabilityError",
    "MixedExtensionsWarning",
    "ModelAnswerError",
    "ModelEndpoint",
    "ModelError",
    "ModelRequest",
    "ModelRetry",
    "NoCheckpointsError",
    "NoHookError",
    "NoMessagesLeftError",
    "NoRunLocalError",
    "NotAToolError",
    "NotAsyncError",
    "NotInToolCallError",
    "NotKeepableError",
    "NotKnownAtBuild",
    "NotResumableError",
    "Notice",
    "Opaque",
    "Options",
    "PROFILES",
    "Profile",
    "RefengineError",
    "Refused",
    "RetriesExhaustedError",
    "RetryFunctionError",
    "RetryPolicyError",
    "RoutingError",
    "Run",
    "RunResult",
    "SEED_001",
    "SameExtensionTwiceError",
    "StateError",
    "StreamBrokenOffError",
    "StreamConsumedError",
    "StreamEndpoint",
    "StreamReader",
    "StreamToolCallResult",
    "StreamableToolCallWrapper",
    "TooManyExtensionsError",
    "Tool",
    "ToolCall",
    "ToolCallChunk",
    "ToolCallInput",
    "ToolCallResult",
    "ToolError",
    "ToolInfo",
    "ToolKindError",
    "ToolMeta",
    "ToolMiddleware",
    "ToolNotFound",
    "ToolResultTypeError",
    "ToolsConfig",
    "ToolsModifier",
    "TypeNameError",
    "TypeTakenError",
    "Types",
    "TypesFrozenError",
    "UnansweredCallsError",
    "UnfitTypeError",
    "UnknownInterruptError",
    "UnknownProfileError",
    "UnknownToolNameError",
    "UnknownTypeError",
    "UpgradesError",
    "WillRetryError",
    "attach_action",
    "build_agent",
    "convert_stream",
    "delete_run_local",
    "get_run_local",
    "interrupt",
    "is_reentry",
    "join_chunks",
    "merge",
    "normalise",
    "set_run_local",
    "with_after_model_rewrite_history",
    "with_before_agent",
    "with_before_model_rewrite_history",
    "with_global_tool_wrapper",
    "with_instruction",
    "with_instruction_func",
    "with_invokable_tool_wrapper",
    "with_remove_tools",
    "with_return_directly_on",
    "with_streamable_tool_wrapper",
    "with_tool_call_logging",
    "with_tools",
    "with_tools_func",
]

_ROOMS = {
    "actions": "AgentAction",
    "agent": "Agent ChatModelAgentConfig build_agent",
    "context": "Context delete_run_local get_run_local set_run_local",
    "errors": (
        "BadTreeError ChangedAgentError CheckpointConflictError "
        "CheckpointNotFoundError ConfigurationError DecodeError EqualNamesError "
        "FieldTypeError HandlerArgumentError HookError HookReturnError "
        "IncompleteProfileError InputError InterruptInStreamError "
        "InterruptOutsideHookError InterruptTooEarlyError JournalledError "
        "MaxIterationsError "
        "MaxIterationsExceededError MisspeltHookError MixedCapabilityError "
        "MixedExtensionsWarning ModelAnswerError ModelError NoCheckpointsError "
        "NoHookError NoMessagesLeftError NoRunLocalError NotAToolError NotAsyncError "
        "NotInToolCallError NotKeepableError NotKnownAtBuild NotResumableError "
        "RefengineError Refused RetriesExhaustedError RetryFunctionError "
        "RetryPolicyError RoutingError SameExtensionTwiceError StateError "
        "StreamBrokenOffError StreamConsumedError TooManyExtensionsError ToolError "
        "ToolKindError ToolNotFound ToolResultTypeError TypeNameError TypeTakenError "
        "TypesFrozenError UnansweredCallsError UnfitTypeError UnknownInterruptError "
        "UnknownProfileError UnknownToolNameError UnknownTypeError UpgradesError "
        "WillRetryError"
    ),
    "events": "AgentEvent Notice",
    "extensions": "MAX_EXTENSIONS",
    "helpers": (
        "with_after_model_rewrite_history with_before_agent "
        "with_before_model_rewrite_history with_global_tool_wrapper "
        "with_instruction with_instruction_func with_invokable_tool_wrapper "
        "with_remove_tools with_return_directly_on with_streamable_tool_wrapper "
        "with_tool_call_logging with_tools with_tools_func"
    ),
    "history": "History",
    "interrupts": "Interrupt interrupt is_reentry",
    "hooks": (
        "AgentHandler InstructionModifier InvokableToolCallWrapper "
        "MessageStatePostProcessor MessageStatePreProcessor ModelEndpoint "
        "StreamableToolCallWrapper ToolsModifier"
    ),
    "messages": "Json Message MessageChunk ToolCall ToolCallChunk join_chunks",
    "middleware": "AgentMiddleware ChatModelAgentState",
    "model": "ChatModel ModelRequest",
    "plan": "AgentConfig",
    "profile": "PROFILES Profile SEED_001",
    "retry": "ModelRetry",
    "run": "Run RunResult",
    "scope": "attach_action",
    "stream": "DROP StreamReader convert_stream",
    "tools": (
        "Endpoint Options StreamEndpoint StreamToolCallResult Tool "
        "ToolCallInput ToolCallResult ToolInfo ToolMeta ToolMiddleware "
        "ToolsConfig merge normalise"
    ),
    "values": "Types",
    "values_builtin": "Opaque",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}

if not TYPE_CHECKING:  # a checker that sees __getattr__ takes every name to exist

    def __getattr__(name: str) -> object:
        if name in _ROOM_OF:
            found = getattr(import_module(f"refengine.{_ROOM_OF[name]}"), name)
        elif name == "__version__":
            found = import_module("importlib.metadata").version("refengine")
        else:
            raise AttributeError(f"module 'refengine' has no attribute {name!r}")
        globals()[name] = found  # so that the next use does not come here
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})
