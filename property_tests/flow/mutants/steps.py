"""The steps of the Flow dialect that mutants replace, by name, and no others.

Each is a public function or method with a sentence that says what it does. A function
that other modules import by name is replaced where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compat.dialects.flow import (
    contents,
    flow,
    merging,
    model_calls,
    runner,
    running,
    sessions,
    tool_calls,
)
from compat.dialects.flow.plugins import Plugins
from compat.dialects.flow.processors import confirmation, instructions, transfer
from compat.dialects.flow.processors import contents as contents_processor
from compat.dialects.flow.profile import flow_profile
from compat.dialects.flow.sessions import InMemorySessionService
from compat.engines.flow import reference
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from property_tests.dialects.broken import BrokenReferences
from property_tests.mutants.steps import EngineStep

FLOW_STEPS: Final[Mapping[str, EngineStep]] = MappingProxyType(
    {
        "plugins.having": EngineStep(Plugins, "having"),
        "model.plugin_value": EngineStep(model_calls, "plugin_value"),
        "model.callback_value": EngineStep(model_calls, "callback_value"),
        "tool.plugin_value": EngineStep(tool_calls, "plugin_value"),
        "tool.callback_value": EngineStep(tool_calls, "callback_value"),
        "tool.refusal": EngineStep(tool_calls, "refusal"),
        "tool.told": EngineStep(tool_calls, "checked_json"),
        "tool.merged": EngineStep(tool_calls, "merge_responses"),
        "agent.plugin_value": EngineStep(running, "plugin_value"),
        "agent.callback_value": EngineStep(running, "callback_value"),
        "agent.output": EngineStep(running, "keeping_output"),
        "agent.run": EngineStep(running, "run_agent"),
        "runner.plugin_value": EngineStep(runner, "plugin_value"),
        "runner.next_agent": EngineStep(runner, "next_agent"),
        "runner.run_agent": EngineStep(runner, "run_agent"),
        "agent.flow": EngineStep(running, "flow_of"),
        "flow.processor": EngineStep(flow, "events_of"),
        "flow.is_final": EngineStep(flow, "is_final"),
        "flow.response": EngineStep(flow, "processed_response"),
        "flow.calls": EngineStep(flow, "call_tools"),
        "flow.confirmation": EngineStep(flow, "with_confirmation"),
        "flow.structured": EngineStep(flow, "structured_answer"),
        "flow.target": EngineStep(flow, "found_target"),
        "merging.two": EngineStep(merging, "merge_two"),
        "contents.build": EngineStep(contents_processor, "contents_of"),
        "contents.in_branch": EngineStep(contents, "in_branch"),
        "contents.told_by_user": EngineStep(contents, "told_by_user"),
        "contents.rearranged": EngineStep(contents, "rearranged"),
        "instructions.fill": EngineStep(instructions, "fill_template"),
        "transfer.targets": EngineStep(transfer, "transfer_targets"),
        "confirmation.calls": EngineStep(confirmation, "call_tools"),
        "stream.aggregator": EngineStep(reference, "aggregator"),
        "sessions.append": EngineStep(InMemorySessionService, "append"),
        "sessions.kept_event": EngineStep(sessions, "kept_event"),
        "sessions.scoped": EngineStep(sessions, "scoped"),
    }
)
"""All of them, from the hooks of a stage to what a session keeps."""

BROKEN: Final = BrokenReferences(
    prefix="flow",
    under="flow-safe",
    profile_named=flow_profile,
    reference=FlowDialect,
    play_on=play_flow,
    steps=FLOW_STEPS,
)
broken = BROKEN.broken
step = BROKEN.step
