"""Profiles of the Flow dialect: where its versions differ, each point with a name.

The choices stand in ``profiles.toml``, in the machinery that the engine's profiles have
(``refengine.postures``). ``adk-go-0.4`` is what the seed describes; ``flow-safe`` is
that with each of its bugs off.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from refengine.postures import named, profiles_in, refuse_unknown_options


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowProfile:
    """One version's choices. A field left out, or an unknown value, does not load."""

    name: str
    # Processors and the loop
    identity: Literal["stub", "told"]
    """the identity processor does nothing, or tells the model its agent's name and
    description"""
    equal_tool_names: Literal["error", "last_wins"]
    """two tools of one name: the turn fails before the model is asked, or the last one
    runs and both are declared"""
    skipped_response: Literal["no_content", "no_content_or_grounding"]
    """which responses make no event: those without content, error and interruption, or
    only if they have no grounding either"""
    thought_only_turn: Literal["ends", "goes_on"]
    """a whole response of thoughts alone is an end like another, or the model is asked
    again"""
    last_partial: Literal["error", "stops"]
    """a step whose last event is partial: the turn fails, or ends with a warning"""
    partial_calls: Literal["run", "skipped"]
    """calls in a partial response"""
    model_calls: Literal["any", "at_most_500"]
    """how often one invocation may ask its model"""
    error_event: Literal["as_its_content", "final"]
    """whether an event with an error code is a final response whatever it holds"""
    # Model hooks
    plugin_errors: Literal["as_raised", "wrapped"]
    """what leaves a run when a plugin raised: its exception, or a RuntimeError that
    names plugin and hook and has it as its cause"""
    plugin_after_model_state: Literal["kept", "lost"]
    """state that a plugin's after_model writes"""
    replaced_partial: Literal["as_given", "inherited"]
    """an after-model hook's response that does not say whether it is partial, ends the
    turn or what it cost: as it is, or it has that of the response it replaces"""
    call_ids: Literal["after_hooks", "before_hooks"]
    """when calls without an id are given one: after the after-model hooks, or before"""
    model_artifacts: Literal["dropped", "kept"]
    """artifacts that a model hook saves: whether the event's delta has them"""
    # Tool hooks
    tool_failures: Literal["data", "abort"]
    """an exception of a tool or of a tool hook becomes the call's response unless it is
    recovered, and after_tool hooks see it; or it ends the run, a hook's at once"""
    tool_hook_values: Literal["not_none", "truthy"]
    """what ends the list of an agent's before or after tool callbacks: an empty mapping
    does not if only truthy ones do"""
    unknown_tool: Literal["answered", "aborts", "hooked_and_answered"]
    """a call to a tool that is not there: on_tool_error hooks, then an answer that says
    so or the end of the run; or before_tool hooks as well, then another answer"""
    after_tool_sees: Literal["mapping", "raw"]
    """what an after_tool hook is given of a tool that returned no mapping: it wrapped
    as {"result": ...}, or itself"""
    long_running_nothing: Literal["answered", "none_held_back", "empty_held_back"]
    """a long-running tool that returned nothing yet: it is answered all the same, or
    None is not, or neither None nor an empty mapping is"""
    # Agent hooks and the runner
    before_agent_error: Literal["goes_on", "ends"]
    """an exception of a before_agent hook: told, and the agent runs all the same; or
    the end of the agent"""
    failed_step: Literal["next_goes_on", "crashes", "ends"]
    """an exception of an agent in a sequence or a loop: told, and the next one runs all
    the same, or a crash of whoever reads on, unless somebody handed over to them or
    calls them as a tool; or the end"""
    after_agent_on_error: Literal["called", "skipped"]
    """after_agent hooks of an agent whose model failed"""
    transferring_agent: Literal["after_hooks_called", "left_behind"]
    """after_agent hooks of an agent that handed over: called, or not if the run began
    with it, or reached it by transfers alone"""
    resumed_branch: Literal["none", "as_asked"]
    """the branch on which an agent goes on whose call the user answers"""
    waiting_agent: Literal["next_goes_on", "parents_stop"]
    """a sequence or a loop behind an agent that called a long-running tool, or asked
    for a confirmation: goes on, or stops until that is answered; so does whom that
    agent hands over to, if the run began with it or reached it by transfers alone"""
    sequence_escalation: Literal["next_goes_on", "ends"]
    """a sequence behind an agent that escalates: goes on, or ends as a loop does"""
    parallel_escalation: Literal["others_go_on", "ends_all"]
    """an agent among parallel ones that escalates"""
    before_run_value: Literal["user_echo", "content"]
    """what a before_run hook's content becomes: the user's message once more and the
    content is lost, or an event of the model with it"""
    before_run_event: Literal["straight", "through_on_event"]
    """whether on_event sees the event that a before_run hook's content became"""
    next_agent: Literal["last_speaker", "transfer_target"]
    """who goes on with the user's next message: who spoke last; or, if that one handed
    over to an agent that has not spoken since, that agent, a failure not counted"""
    failure_event: Literal["none", "told"]
    """an exception that leaves the agent that the run began with: whether an event with
    its class and text is told and kept first, if that agent asks a model: by who spoke
    last, or by the agent above one that was handed the turn and has not spoken yet"""
    user_calls: Literal["taken", "refused"]
    """a message of the user with function calls, or with responses to calls that the
    session does not have: kept like any, or refused before anything is kept"""
    on_event_error: Literal["event_lost", "ends"]
    """an exception of an on_event hook: told in place of the event, which is not kept,
    and the run goes on; or the end of the run"""
    on_event_kept: Literal["replacement", "original", "merged"]
    """what a session keeps of an event that on_event replaced"""
    after_run: Literal["always", "on_completion", "not_on_exception"]
    """when after_run hooks are called: however it ends, only if it ran to its end, or
    also if its consumer left early"""
    after_run_value: Literal["ignored", "silences"]
    """whether a value of one plugin's after_run keeps later ones from being called"""
    agent_tool_plugins: Literal["none", "inherited"]
    """whether the runner's plugins see what an agent does that is called as a tool:
    then its run is an invocation of its own to them"""
    agent_tool_stream: Literal["never", "always"]
    """whether the run of an agent that is called as a tool streams"""
    agent_tool_result: Literal["last_text", "why_none", "lines_or_error"]
    """what an agent that is called as a tool gives back: what it said last, also when
    it waits for its user, or when its model failed; or then why it said nothing, which
    a waiting one's caller sums up; or its last texts and thoughts as lines, an empty
    mapping without any, and an error of its model as that of the call"""
    agent_tool_state: Literal["handed_on", "stays_inside"]
    """whether state that an agent writes that is called as a tool is its caller's"""
    agent_tool_skipping: Literal["response_alone", "text_as_well"]
    """the event of an agent that is called as a tool and whose result is not summed up:
    its response alone, or behind it what it gave as a text, for those who show no
    responses"""
    # Parallel calls
    parallel_calls: Literal["sequential", "concurrent"]
    """the calls of one response, in their order or at the same time"""
    failing_call: Literal["siblings_finish", "siblings_cancelled"]
    """what becomes of the other calls when one ends the run"""
    flags_merge: Literal["any", "last"]
    """skip_summarization and escalate of several calls: set if any set it, or as the
    last that said something"""
    artifacts_merge: Literal["first", "newest", "last"]
    """artifact versions of several calls: those of the first alone, the highest of each
    file, or the last of each file"""
    # Contents
    hidden_calls: Literal["credential", "and_confirmation", "and_input"]
    """which of the flow's own calls the model never sees: those for a credential, those
    for a confirmation as well, those for an input as well"""
    foreign_wording: Literal["quotes", "backticks_json", "backticks_repr", "fenced"]
    """how another agent's calls and results are told"""
    foreign_thoughts: Literal["said", "dropped"]
    """thoughts of another agent"""
    foreign_responses: Literal["by_author", "by_call"]
    """whose a function response is: its author's, or that agent's who made the call"""
    silent_event: Literal["shown", "hidden"]
    """an event of nothing but thoughts, empty parts and a vendor's additions"""
    empty_parts: Literal["removed", "kept"]
    """empty parts beside others, in the contents"""
    unrelated_pairs: Literal["dropped", "kept"]
    """other calls and responses between a call and its late response"""
    orphan_response: Literal["error", "dropped"]
    """a last response whose call is not in the history"""
    lone_response: Literal["kept", "dropped"]
    """a response that is all that the model would be sent"""
    unanswered_call: Literal["kept", "dropped"]
    """a call without a response, in the contents"""
    mixed_responses: Literal["error", "split"]
    """a last event with responses to calls of several events"""
    shared_response: Literal["repeated", "parted"]
    """an event with responses to calls of several events: stands whole behind each of
    them, or each has its own part of it"""
    reused_call_ids: Literal["last_response", "following_response"]
    """two calls of one id: both have the last response of that id, or each has the last
    of those that follow it"""
    superseded_text: Literal["kept", "dropped"]
    """what the model said between two responses to one call"""
    last_content: Literal["as_it_is", "user"]
    """contents that do not end on the user: left so, or a user's turn is added"""
    no_pivot: Literal["everything", "nothing"]
    """include_contents none, and nobody else spoke: the whole history or nothing"""
    turn_start: Literal["any_event", "branch_event", "visible_event", "asking_event"]
    """with include_contents none, the turn starts at the last event of the user or of
    another agent: whatever it is; only in a branch that the agent sees; only if the
    model sees it; or only if, besides, it is neither a transfer nor a result"""
    # Instructions
    template_escapes: Literal["none", "backslash_and_dollar"]
    """whether a backslash or a dollar before a brace leaves it alone"""
    artifact_text: Literal["text", "repr"]
    """what {artifact.NAME} is replaced by: its text, or how the part prints"""
    value_text: Literal["percent_v", "str"]
    """how a value of the state is written into an instruction: as Go's %v writes it, or
    as Python's str does"""
    # Transfer
    transfer_reach: Literal["targets", "whole_tree"]
    """which agents a transfer finds"""
    transfer_to_self: Literal["refused", "allowed"]
    """an agent that transfers to itself"""
    transfer_names: Literal["any_text", "enumerated"]
    """whether the schema of transfer_to_agent lists the names"""
    # Output
    native_schema: Literal["gemini_2_on_vertex", "by_model", "all_but_older_gemini"]
    """which models take a schema and tools together"""
    invalid_answer: Literal["final_error", "raises", "retried"]
    """set_model_response with arguments that do not fit: an answer that says so, the
    end of the run, or the model is told and asked again"""
    answer_json: Literal["compact", "spaced"]
    """how the answer of set_model_response is written: compact with sorted keys, or
    with spaces and as it came"""
    output_key: Literal["each_event", "final_event", "whole_turn"]
    """what is kept under output_key: the text of each event in turn, of the final one,
    or of the turn, and of what a before_agent hook said"""
    output_value: Literal["text", "parsed"]
    """what is kept under output_key of an agent with an output schema"""
    # Confirmation
    confirmation_place: Literal["before_responses", "after_responses", "after_settled"]
    """where the event that asks for confirmation stands: before the responses, behind
    them, or behind them only if another call of the response was settled"""
    confirmation_ids: Literal["empty", "calls_alone", "given"]
    """whether that event's calls, and the event, have ids"""
    confirmation_skips: Literal["no", "yes"]
    """whether what a tool or a hook gives that asks for a confirmation is to have no
    summary, so that the agent waits for the answer and does not go on"""
    confirmation_check: Literal["trusted", "checked", "checked_and_ends"]
    """an answer to a confirmation that was not asked, or is settled: what it says runs,
    once more; or it is refused, and a settled one ignored, after which the model is
    asked or the agent ends"""
    rejected_call: Literal["asking_tool_runs", "never_runs"]
    """a call that its user rejects and whose tool had asked for itself: the tool runs
    and reads the answer, or is refused as one that needs a confirmation"""
    resumed_final: Literal["asks_model", "ends"]
    """the responses of confirmed calls, where they are to have no summary: the model is
    asked all the same, or the agent ends"""
    # Streams
    aggregation: Literal["first_part", "progressive"]
    """how chunks become a response: by the first part of each, flushed where the kind
    changes; or as ordered runs of all parts, with one closing response"""
    bare_finish: Literal["as_it_is", "error_code"]
    """a chunk that says nothing but why the answer ends: an end like any other, or that
    reason is an error code, with which an event is made of it"""
    empty_chunk_part: Literal["passed_over", "as_another"]
    """an empty part in a chunk: changes nothing, or is a part like any that is not
    text"""
    closing_response: Literal["if_pending", "always"]
    """the response that ends a stream: only if something is left to tell, or after
    every stream"""
    repeated_calls: Literal["kept", "first"]
    """two calls of one id in a stream: both, or the first alone, in the closing
    response"""
    no_candidates: Literal["error", "told"]
    """a chunk without any answer in it: the stream fails, or it is told as it is"""

    def __post_init__(self) -> None:
        refuse_unknown_options(self)


FLOW_PROFILES: Final = tuple(
    profiles_in(
        FlowProfile, Path(__file__).with_name("profiles.toml").read_text("utf-8")
    )
)
"""All profiles of the dialect, in the order of ``profiles.toml``."""


def flow_profile(name: str) -> FlowProfile:
    """Return the profile of that name; raises UnknownProfileError with a suggestion."""
    return named(FLOW_PROFILES, name)
