from refengine.agent import (
    Agent as Agent,
    ChatModelAgentConfig as ChatModelAgentConfig,
    build_agent as build_agent,
)
from refengine.chain import attach_action as attach_action
from refengine.context import (
    Context as Context,
    delete_run_local as delete_run_local,
    get_run_local as get_run_local,
    set_run_local as set_run_local,
)
from refengine.errors import (
    ConfigurationError as ConfigurationError,
    EqualNamesError as EqualNamesError,
    FieldTypeError as FieldTypeError,
    HandlerArgumentError as HandlerArgumentError,
    HookError as HookError,
    HookReturnError as HookReturnError,
    IncompleteProfileError as IncompleteProfileError,
    InputError as InputError,
    InterruptInStreamError as InterruptInStreamError,
    InterruptOutsideHookError as InterruptOutsideHookError,
    InterruptTooEarlyError as InterruptTooEarlyError,
    MaxIterationsError as MaxIterationsError,
    MaxIterationsExceededError as MaxIterationsExceededError,
    MisspeltHookError as MisspeltHookError,
    MixedCapabilityError as MixedCapabilityError,
    MixedExtensionsWarning as MixedExtensionsWarning,
    ModelAnswerError as ModelAnswerError,
    ModelError as ModelError,
    NoCheckpointsError as NoCheckpointsError,
    NoHookError as NoHookError,
    NoMessagesLeftError as NoMessagesLeftError,
    NoRunLocalError as NoRunLocalError,
    NotAToolError as NotAToolError,
    NotAsyncError as NotAsyncError,
    NotInToolCallError as NotInToolCallError,
    NotKeepableError as NotKeepableError,
    NotKnownAtBuild as NotKnownAtBuild,
    RefengineError as RefengineError,
    Refused as Refused,
    RetriesExhaustedError as RetriesExhaustedError,
    RetryFunctionError as RetryFunctionError,
    RetryPolicyError as RetryPolicyError,
    RoutingError as RoutingError,
    SameExtensionTwiceError as SameExtensionTwiceError,
    StreamBrokenOffError as StreamBrokenOffError,
    StreamConsumedError as StreamConsumedError,
    TooManyExtensionsError as TooManyExtensionsError,
    ToolError as ToolError,
    ToolKindError as ToolKindError,
    ToolNotFound as ToolNotFound,
    ToolResultTypeError as ToolResultTypeError,
    UnansweredCallsError as UnansweredCallsError,
    UnknownProfileError as UnknownProfileError,
    UnknownToolNameError as UnknownToolNameError,
    WillRetryError as WillRetryError,
)
from refengine.events import (
    AgentAction as AgentAction,
    AgentEvent as AgentEvent,
    Notice as Notice,
)
from refengine.extensions import MAX_EXTENSIONS as MAX_EXTENSIONS
from refengine.helpers import (
    with_after_model_rewrite_history as with_after_model_rewrite_history,
    with_before_agent as with_before_agent,
    with_before_model_rewrite_history as with_before_model_rewrite_history,
    with_global_tool_wrapper as with_global_tool_wrapper,
    with_instruction as with_instruction,
    with_instruction_func as with_instruction_func,
    with_invokable_tool_wrapper as with_invokable_tool_wrapper,
    with_remove_tools as with_remove_tools,
    with_return_directly_on as with_return_directly_on,
    with_streamable_tool_wrapper as with_streamable_tool_wrapper,
    with_tool_call_logging as with_tool_call_logging,
    with_tools as with_tools,
    with_tools_func as with_tools_func,
)
from refengine.hooks import (
    AgentConfig as AgentConfig,
    AgentHandler as AgentHandler,
    InstructionModifier as InstructionModifier,
    InvokableToolCallWrapper as InvokableToolCallWrapper,
    MessageStatePostProcessor as MessageStatePostProcessor,
    MessageStatePreProcessor as MessageStatePreProcessor,
    ModelEndpoint as ModelEndpoint,
    StreamableToolCallWrapper as StreamableToolCallWrapper,
    ToolsModifier as ToolsModifier,
)
from refengine.interrupts import (
    Interrupt as Interrupt,
    interrupt as interrupt,
    is_reentry as is_reentry,
)
from refengine.messages import (
    History as History,
    Json as Json,
    Message as Message,
    MessageChunk as MessageChunk,
    ToolCall as ToolCall,
    ToolCallChunk as ToolCallChunk,
    join_chunks as join_chunks,
)
from refengine.model import (
    ChatModel as ChatModel,
    ModelRequest as ModelRequest,
)
from refengine.model_calls import ModelRetry as ModelRetry
from refengine.profile import (
    PROFILES as PROFILES,
    Profile as Profile,
    SEED_001 as SEED_001,
)
from refengine.resume.errors import (
    ChangedAgentError as ChangedAgentError,
    JournalledError as JournalledError,
    NotResumableError as NotResumableError,
    UnknownInterruptError as UnknownInterruptError,
)
from refengine.run import (
    Run as Run,
    RunResult as RunResult,
)
from refengine.state.errors import (
    BadTreeError as BadTreeError,
    DecodeError as DecodeError,
    StateError as StateError,
    TypeNameError as TypeNameError,
    TypeTakenError as TypeTakenError,
    TypesFrozenError as TypesFrozenError,
    UnfitTypeError as UnfitTypeError,
    UnknownTypeError as UnknownTypeError,
    UpgradesError as UpgradesError,
)
from refengine.state.kinds import Opaque as Opaque
from refengine.state.store_errors import (
    CheckpointConflictError as CheckpointConflictError,
    CheckpointNotFoundError as CheckpointNotFoundError,
)
from refengine.state.values import Types as Types
from refengine.stream import (
    DROP as DROP,
    StreamReader as StreamReader,
    convert_stream as convert_stream,
)
from refengine.struct_middleware import (
    AgentMiddleware as AgentMiddleware,
    ChatModelAgentState as ChatModelAgentState,
)
from refengine.tools import (
    Endpoint as Endpoint,
    Options as Options,
    StreamEndpoint as StreamEndpoint,
    StreamToolCallResult as StreamToolCallResult,
    Tool as Tool,
    ToolCallInput as ToolCallInput,
    ToolCallResult as ToolCallResult,
    ToolInfo as ToolInfo,
    ToolMeta as ToolMeta,
    ToolMiddleware as ToolMiddleware,
    ToolsConfig as ToolsConfig,
    merge as merge,
    normalise as normalise,
)

__version__: str
