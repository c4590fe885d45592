"""A reference engine for agent middleware.

The public names, each brought in at its first use: ``import refengine`` costs almost
nothing, because pytest and children that run a subject import it before anything else.
What types they have is in ``__init__.pyi``, which a test compares with this table.
``profile`` is not among them: it would hide the module ``refengine.profile``.
"""

from importlib import import_module

_NAMES_OF = {
    "agent": "Agent ChatModelAgentConfig build_agent",
    "chain": "attach_action",
    "context": "Context delete_run_local get_run_local set_run_local",
    "errors": (
        "ConfigurationError EqualNamesError FieldTypeError HandlerArgumentError "
        "HookError HookReturnError IncompleteProfileError InputError "
        "InterruptInStreamError InterruptOutsideHookError InterruptTooEarlyError "
        "MaxIterationsError MaxIterationsExceededError MisspeltHookError "
        "MixedCapabilityError MixedExtensionsWarning ModelAnswerError ModelError "
        "NoCheckpointsError NoHookError NoMessagesLeftError NoRunLocalError "
        "NotAToolError NotAsyncError NotInToolCallError NotKeepableError "
        "NotKnownAtBuild RefengineError Refused RetriesExhaustedError "
        "RetryFunctionError RetryPolicyError RoutingError SameExtensionTwiceError "
        "StreamBrokenOffError StreamConsumedError TooManyExtensionsError ToolError "
        "ToolKindError ToolNotFound ToolResultTypeError UnansweredCallsError "
        "UnknownProfileError UnknownToolNameError WillRetryError"
    ),
    "events": "AgentAction AgentEvent Notice",
    "extensions": "MAX_EXTENSIONS",
    "helpers": (
        "with_after_model_rewrite_history with_before_agent "
        "with_before_model_rewrite_history with_global_tool_wrapper with_instruction "
        "with_instruction_func with_invokable_tool_wrapper with_remove_tools "
        "with_return_directly_on with_streamable_tool_wrapper with_tool_call_logging "
        "with_tools with_tools_func"
    ),
    "hooks": (
        "AgentConfig AgentHandler InstructionModifier InvokableToolCallWrapper "
        "MessageStatePostProcessor MessageStatePreProcessor ModelEndpoint "
        "StreamableToolCallWrapper ToolsModifier"
    ),
    "interrupts": "Interrupt interrupt is_reentry",
    "messages": "History Json Message MessageChunk ToolCall ToolCallChunk join_chunks",
    "model": "ChatModel ModelRequest",
    "model_calls": "ModelRetry",
    "profile": "PROFILES Profile SEED_001",
    "resume.errors": (
        "ChangedAgentError JournalledError NotResumableError UnknownInterruptError"
    ),
    "run": "Run RunResult",
    "state.errors": (
        "BadTreeError DecodeError StateError TypeNameError TypeTakenError "
        "TypesFrozenError UnfitTypeError UnknownTypeError UpgradesError"
    ),
    "state.kinds": "Opaque",
    "state.store_errors": "CheckpointConflictError CheckpointNotFoundError",
    "state.values": "Types",
    "stream": "DROP StreamReader convert_stream",
    "struct_middleware": "AgentMiddleware ChatModelAgentState",
    "tools": (
        "Endpoint Options StreamEndpoint StreamToolCallResult Tool ToolCallInput "
        "ToolCallResult ToolInfo ToolMeta ToolMiddleware ToolsConfig merge normalise"
    ),
}
_MODULE_OF = {
    name: module for module, names in _NAMES_OF.items() for name in names.split()
}
__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]  # the stub is for checkers


def __getattr__(name: str) -> object:
    if name in _MODULE_OF:
        found = getattr(import_module(f"refengine.{_MODULE_OF[name]}"), name)
    elif name == "__version__":
        found = import_module("importlib.metadata").version("refengine")
    else:
        raise AttributeError(f"module 'refengine' has no attribute {name!r}")
    globals()[name] = found  # so that the next use does not come here
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
