"""Profiles: complete choices of postures, the points where engines legitimately differ.

The table is contract §4. A hook that an engine does not have takes the value of
``seed-001``, because adapted handlers run under every profile (contract §1).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args, get_type_hints

from refengine.errors import IncompleteProfileError, UnknownProfileError


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One engine's choices. A field left out, or an unknown value, does not load."""

    name: str
    before_agent: Literal["build", "run"]
    """once, when the agent is built, or at the start of every run"""
    after_hooks: Literal["in_order", "handlers_first"]
    """after-model hooks with both lists: middlewares then handlers, or the reverse"""
    separator: Literal["newline", "blank_line"]
    """what stands before a middleware's additional instruction"""
    empty_addition: Literal["kept", "skipped"]
    """whether an empty additional instruction still brings its separator"""
    empty_base: Literal["joined", "replaced"]
    """whether an empty instruction still gets the separator before an addition"""
    equal_tool_names: Literal["one_entry", "all_shown"]
    """fold by name, or show all to the model; the last one runs in both"""
    all_tools_removed: Literal["none_left", "advertised", "ignored"]
    """what is shown and runs when a handler leaves no tool"""
    null_tools: Literal["refused", "not_shown", "ignored"]
    """what ``config.tools = None`` does; if it is not refused, all tools still run"""
    return_directly: Literal[
        "three_valued", "configured", "membership", "true_or_configured"
    ]
    """how flags that handlers set meet the configured ones"""
    direct_event: Literal["call_order", "last"]
    """where the event of the call that ends the run stands among its siblings"""
    route: Literal["last_left", "model_response"]
    """what decides after the after-hooks: the message they left, or the response"""
    answer: Literal["last_assistant", "last_message"]
    """the answer of a run that ends on a message of another role"""
    after_leaves_none: Literal["error", "ignored"]
    """an empty history after the after-hooks"""
    unknown_tool: Literal["abort"]
    """a call to a tool that is not there, without unknown_tools_handler"""
    wrapper_raises: Literal["abort"]
    """an exception that leaves the tool onion"""
    parallel_calls: Literal["concurrent"]
    """the calls of one message"""
    next_twice: Literal["allowed"]
    """a wrapper that calls ``next`` again runs the inner call again"""
    changed_call_id: Literal["ignored", "leaks_into_event"]
    """a wrapper changes the call id of its input"""
    model_context: Literal["iteration", "model_side", "before_hooks"]
    """how far the context of a before-model hook reaches"""
    state_object: Literal["per_pass", "per_iteration", "per_middleware"]
    """which model hooks of struct middlewares share one state object"""
    wrapper_factory: Literal["once_a_tool", "per_run", "per_call"]
    """how often a ToolMiddleware's factory is called"""
    exhaustion: Literal["outcome", "error"]
    """no answer after max_iterations"""
    after_agent: Literal["on_success", "never"]
    """whether after_agent hooks are called"""
    iterations_below_one: Literal["refused", "default"]
    """max_iterations of 0 or less: refused at build, or read as the default"""
    hidden_tool: Literal["unknown", "runs"]
    """a call to a tool that wrap_model_call took out of the request"""
    without_tools: Literal["loop", "single_call"]
    """an agent without tools: the same loop, or one model call and the end"""
    both_lists: Literal["warning", "silent"]
    """an agent with struct middlewares and handlers"""
    struct_middleware: Literal["supported", "deprecated"]
    """whether using the struct gives a DeprecationWarning"""
    same_handler_twice: Literal["refused", "runs_twice"]
    """one handler object at two positions"""

    def __post_init__(self) -> None:
        for posture, allowed in options().items():
            got = getattr(self, posture)
            if got not in allowed:
                raise IncompleteProfileError(
                    self.name, posture, got, ", ".join(allowed)
                )


def choosing(base: Profile, posture: str, option: str) -> Profile:
    """Return a profile that differs from ``base`` in one posture.

    Raises IncompleteProfileError for a posture or an option that there is not.
    """
    if posture not in options():
        raise IncompleteProfileError(base.name, posture, option, "any posture")
    changes: dict[str, Any] = {posture: option}
    return replace(base, **changes)


def options() -> Mapping[str, tuple[str, ...]]:
    """Return each posture with its options, in the order of the table."""
    hints = get_type_hints(Profile)
    return {
        each.name: get_args(hints[each.name])
        for each in fields(Profile)
        if each.name != "name"
    }


def differences(a: Profile, b: Profile) -> Iterator[tuple[str, str, str]]:
    """Yield (posture, value in a, value in b) where the two differ."""
    for posture in options():
        if getattr(a, posture) != getattr(b, posture):
            yield posture, getattr(a, posture), getattr(b, posture)


SEED_001: Final = Profile(
    name="seed-001",
    before_agent="build",
    after_hooks="in_order",
    separator="newline",
    empty_addition="kept",
    empty_base="joined",
    equal_tool_names="one_entry",
    all_tools_removed="none_left",
    null_tools="refused",
    return_directly="three_valued",
    direct_event="call_order",
    route="last_left",
    answer="last_assistant",
    after_leaves_none="error",
    unknown_tool="abort",
    wrapper_raises="abort",
    parallel_calls="concurrent",
    next_twice="allowed",
    changed_call_id="ignored",
    model_context="iteration",
    state_object="per_pass",
    wrapper_factory="once_a_tool",
    exhaustion="outcome",
    iterations_below_one="refused",
    after_agent="on_success",
    hidden_tool="unknown",
    without_tools="loop",
    both_lists="warning",
    struct_middleware="supported",
    same_handler_twice="refused",
)

# v0.7.17: struct middlewares only.
EINO_0_7: Final = Profile(
    name="eino-0.7",
    before_agent="build",
    after_hooks="in_order",
    separator="newline",
    empty_addition="kept",
    empty_base="joined",
    equal_tool_names="all_shown",
    all_tools_removed="none_left",
    null_tools="refused",
    return_directly="configured",
    direct_event="last",
    route="model_response",
    answer="last_assistant",
    after_leaves_none="ignored",
    unknown_tool="abort",
    wrapper_raises="abort",
    parallel_calls="concurrent",
    next_twice="allowed",
    changed_call_id="leaks_into_event",
    model_context="iteration",
    state_object="per_pass",
    wrapper_factory="once_a_tool",
    exhaustion="error",
    iterations_below_one="default",
    after_agent="on_success",
    hidden_tool="runs",
    without_tools="single_call",
    both_lists="silent",
    struct_middleware="supported",
    same_handler_twice="runs_twice",
)

# ae1fb605: the first implementation of seed 001, never released.
EINO_DRAFT: Final = Profile(
    name="eino-draft",
    before_agent="run",
    after_hooks="in_order",
    separator="newline",
    empty_addition="skipped",
    empty_base="replaced",
    equal_tool_names="all_shown",
    all_tools_removed="ignored",
    null_tools="ignored",
    return_directly="true_or_configured",
    direct_event="last",
    route="model_response",
    answer="last_assistant",
    after_leaves_none="ignored",
    unknown_tool="abort",
    wrapper_raises="abort",
    parallel_calls="concurrent",
    next_twice="allowed",
    changed_call_id="leaks_into_event",
    model_context="before_hooks",
    state_object="per_middleware",
    wrapper_factory="per_call",
    exhaustion="error",
    iterations_below_one="default",
    after_agent="never",
    hidden_tool="runs",
    without_tools="single_call",
    both_lists="silent",
    struct_middleware="supported",
    same_handler_twice="runs_twice",
)

# v0.8.13.
EINO_0_8: Final = Profile(
    name="eino-0.8",
    before_agent="run",
    after_hooks="handlers_first",
    separator="blank_line",
    empty_addition="skipped",
    empty_base="joined",
    equal_tool_names="all_shown",
    all_tools_removed="none_left",
    null_tools="not_shown",
    return_directly="membership",
    direct_event="last",
    route="last_left",
    answer="last_message",
    after_leaves_none="error",
    unknown_tool="abort",
    wrapper_raises="abort",
    parallel_calls="concurrent",
    next_twice="allowed",
    changed_call_id="leaks_into_event",
    model_context="model_side",
    state_object="per_iteration",
    wrapper_factory="per_run",
    exhaustion="error",
    iterations_below_one="default",
    after_agent="never",
    hidden_tool="runs",
    without_tools="single_call",
    both_lists="silent",
    struct_middleware="supported",
    same_handler_twice="runs_twice",
)

# The newest commit of the observations.
EINO_0_9: Final = Profile(
    name="eino-0.9",
    before_agent="run",
    after_hooks="handlers_first",
    separator="blank_line",
    empty_addition="skipped",
    empty_base="joined",
    equal_tool_names="all_shown",
    all_tools_removed="advertised",
    null_tools="ignored",
    return_directly="membership",
    direct_event="last",
    route="last_left",
    answer="last_message",
    after_leaves_none="error",
    unknown_tool="abort",
    wrapper_raises="abort",
    parallel_calls="concurrent",
    next_twice="allowed",
    changed_call_id="ignored",
    model_context="model_side",
    state_object="per_iteration",
    wrapper_factory="per_run",
    exhaustion="error",
    iterations_below_one="default",
    after_agent="on_success",
    hidden_tool="runs",
    without_tools="single_call",
    both_lists="silent",
    struct_middleware="deprecated",
    same_handler_twice="runs_twice",
)

PROFILES: Final[tuple[Profile, ...]] = (
    SEED_001,
    EINO_0_7,
    EINO_DRAFT,
    EINO_0_8,
    EINO_0_9,
)


def profile(name: str) -> Profile:
    """Return the profile of that name; raises UnknownProfileError with a suggestion."""
    known = {each.name: each for each in PROFILES}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        raise UnknownProfileError(name, known, close[0] if close else None)
    return known[name]
