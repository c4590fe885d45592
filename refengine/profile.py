"""Profiles: complete choices of postures, the points where engines legitimately differ.

The table is contract §4, as data in ``profiles.toml``, which is read once. A hook that
an engine does not have takes the value of ``seed-001``, because adapted handlers run
under every profile (contract §1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from refengine.postures import (
    choosing,
    differences,
    named,
    options_of,
    profiles_in,
    refuse_unknown_options,
)

__all__ = [
    "EINO_0_7",
    "EINO_0_7_37",
    "EINO_0_8",
    "EINO_0_9",
    "EINO_DRAFT",
    "LANGCHAIN_1",
    "LANGGRAPH_PREBUILT_1",
    "OPENAI_AGENTS_0",
    "PROFILES",
    "PYDANTIC_AI_2",
    "SEED_001",
    "STRANDS_1",
    "Profile",
    "choosing",
    "differences",
    "options",
    "profile",
    "read_profiles",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One engine's choices. A field left out, or an unknown value, does not load."""

    name: str
    before_agent: Literal["build", "run"]
    """once, when the agent is built, or at the start of every run"""
    after_hooks: Literal["in_order", "handlers_first", "reversed"]
    """after-model hooks with both lists: middlewares then handlers, or the other list
    first; or all of them backwards, after_agent hooks too"""
    instruction_place: Literal["in_history", "each_call"]
    """the instruction is the first message of a run, which hooks see and may edit, or
    is put before what the model is sent and stands in no history"""
    before_model_edits: Literal["kept", "this_call"]
    """what before-model hooks leave stays in the history, or is for this model call
    alone; then leaving nothing sends the whole history"""
    separator: Literal["newline", "blank_line"]
    """what stands before a middleware's additional instruction"""
    empty_addition: Literal["kept", "skipped"]
    """whether an empty additional instruction still brings its separator"""
    empty_base: Literal["joined", "replaced"]
    """whether an empty instruction still gets the separator before an addition"""
    equal_tool_names: Literal["one_entry", "all_shown"]
    """fold by name, or show all to the model; the last one runs in both"""
    additional_tools: Literal["after_configured", "before_configured"]
    """where additional tools of middlewares stand among the configured ones: of equal
    names the one that stands later runs"""
    all_tools_removed: Literal["none_left", "advertised", "ignored"]
    """what is shown and runs when a handler leaves no tool"""
    null_tools: Literal["refused", "not_shown", "ignored"]
    """what ``config.tools = None`` does; if it is not refused, all tools still run"""
    return_directly: Literal[
        "three_valued", "configured", "membership", "true_or_configured"
    ]
    """how flags that handlers set meet the configured ones"""
    direct_calls: Literal["any", "all"]
    """one direct call among others ends the run, or only if all of them are direct"""
    direct_event: Literal["call_order", "last"]
    """where the event of the call that ends the run stands among its siblings"""
    route: Literal["last_left", "model_response", "unanswered_since", "unanswered_ever"]
    """what decides after the after-hooks: the message they left last, or the response,
    or those calls of the last assistant message that have no result: none after it, or
    none of that id in the whole history"""
    answer: Literal["last_assistant", "last_message", "end_of_history"]
    """the answer of a run that ends on a message of another role; end_of_history also
    if a direct call ended it"""
    after_leaves_none: Literal["error", "ignored", "ends"]
    """an empty history after the after-hooks"""
    unanswered_calls: Literal["sent", "refused"]
    """what the model is sent holds a tool call without a result"""
    unknown_tool: Literal["abort", "answered"]
    """a call to a tool that is not there, without unknown_tools_handler: it ends the
    run, or its result says so, through the wrappers and with an event"""
    wrapper_raises: Literal["abort", "answered"]
    """an exception of a tool, or of a wrapper around it: it goes on outwards and ends
    the run unless a wrapper catches it; or a result says so, a tool's to the wrappers
    around it, too"""
    swallowed_interrupt: Literal["raised_again", "lost"]
    """an interrupt went through a wrapper which then returned normally"""
    resumed_iteration: Literal["goes_on", "begins_again"]
    """after an interrupt in a hook before or after the model, or in a wrapper around
    it: what had finished counts, or the iteration is begun once more"""
    events_at_interrupt: Literal["held", "told"]
    """events of calls that stand after an interrupted one in their message: held until
    it is resumed, or told before the run ends"""
    resumed_tools: Literal["of_this_run", "as_kept"]
    """the tools that the model is told in a resumed run: those that this process built,
    or those of the run that was interrupted"""
    parallel_calls: Literal["concurrent"]
    """the calls of one message"""
    sequential_streams: Literal["drained", "opened"]
    """in a streamed run, of calls that run one by one: the stream of a result is read
    to its end before the next call begins, or all are opened first and then read"""
    failing_call: Literal["siblings_finish", "siblings_cancelled"]
    """what becomes of the other calls of a message when one fails"""
    tool_events: Literal["call_order", "as_finished"]
    """the order of the events of one message's calls"""
    next_twice: Literal["allowed"]
    """a wrapper that calls ``next`` again runs the inner call again"""
    changed_call_id: Literal["ignored", "leaks_into_event", "taken_over"]
    """a wrapper changes the call id of its input; taken over it is the id that tool,
    event and history have"""
    handler_input: Literal["shared", "own"]
    """a handler's wrapper of a tool call writes into its input: the wrappers around it
    see that, or it has an input of its own"""
    model_context: Literal["iteration", "model_side", "before_hooks"]
    """how far the context of a before-model hook reaches"""
    state_object: Literal[
        "per_pass", "per_pass_with_tools", "per_iteration", "per_middleware"
    ]
    """which model hooks of struct middlewares share one state object; an agent without
    tools may have one an iteration where others have one a pass"""
    wrapper_factory: Literal["once_a_tool", "per_run", "per_call"]
    """how often a ToolMiddleware's factory is called"""
    exhaustion: Literal["outcome", "error", "apology"]
    """no answer after max_iterations; an apology takes the place of the last calls,
    which do not run, but beside after-model hooks it is an error"""
    after_agent: Literal["on_success", "never"]
    """whether after_agent hooks are called"""
    iterations_below_one: Literal["refused", "default"]
    """max_iterations of 0 or less: refused at build, or read as the default"""
    hidden_tool: Literal["unknown", "runs"]
    """a call to a tool that wrap_model_call took out of the request"""
    without_tools: Literal["loop", "single_call", "loop_if_wrapped"]
    """an agent without tools: the same loop, or one model call and the end, perhaps
    unless somebody wraps tool calls"""
    both_lists: Literal["warning", "silent"]
    """an agent with struct middlewares and handlers"""
    struct_middleware: Literal["supported", "deprecated"]
    """whether using the struct gives a DeprecationWarning"""
    same_handler_twice: Literal["refused", "runs_twice"]
    """one handler object at two positions"""
    equal_handler_names: Literal["numbered", "refused"]
    """two handlers of one name"""

    def __post_init__(self) -> None:
        refuse_unknown_options(self)


def options() -> Mapping[str, tuple[str, ...]]:
    """Return each posture of the engine with its options, in the order of the class."""
    return options_of(Profile)


def read_profiles(text: str) -> Iterator[Profile]:
    """Yield the engine's profiles of a table in TOML; see ``profiles_in``."""
    return profiles_in(Profile, text)


PROFILES: Final = tuple(
    read_profiles(Path(__file__).with_name("profiles.toml").read_text("utf-8"))
)
"""All profiles, in the order of ``profiles.toml``."""


def profile(name: str) -> Profile:
    """Return the profile of that name; raises UnknownProfileError with a suggestion."""
    return named(PROFILES, name)


SEED_001: Final = profile("seed-001")
EINO_0_7: Final = profile("eino-0.7")
EINO_0_7_37: Final = profile("eino-0.7.37")
EINO_DRAFT: Final = profile("eino-draft")
EINO_0_8: Final = profile("eino-0.8")
EINO_0_9: Final = profile("eino-0.9")
LANGCHAIN_1: Final = profile("langchain-1")
LANGGRAPH_PREBUILT_1: Final = profile("langgraph-prebuilt-1")
PYDANTIC_AI_2: Final = profile("pydantic-ai-2")
OPENAI_AGENTS_0: Final = profile("openai-agents-0")
STRANDS_1: Final = profile("strands-1")
