"""Agent transfer: the tool by which an agent hands over, and the note about to whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from compat.dialects.flow.contents import TRANSFER
from compat.dialects.flow.contexts import InvocationContext, ToolContext
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.tools import Tool, add_tool
from compat.dialects.flow.transfer import ARGUMENT, transfer_targets, wanted_name
from compat.dialects.flow.tree import Agent


def offer_transfer(ctx: InvocationContext, request: LlmRequest, _: object) -> None:
    """Add the tool and the note, if there is anybody to hand over to."""
    parent = ctx.invocation.tree.parent(ctx.agent)
    targets = cast("Sequence[Agent]", transfer_targets(ctx.agent, parent))
    if not targets:
        return
    request.append_instructions(_note(targets))
    tool = transfer_tool([each.name for each in targets], ctx.profile)
    add_tool(request, tool, ctx.agent.name, ctx.profile)


def transfer_tool(names: Sequence[str], profile: FlowProfile) -> Tool:
    """Return the tool that hands over to an agent of these names."""
    name: dict[str, Any] = {"type": "string"}
    if profile.transfer_names == "enumerated":
        name["enum"] = list(names)
    return Tool(
        name=TRANSFER,
        description="Hand over to another agent, which answers in your place.",
        parameters={
            "type": "object",
            "properties": {ARGUMENT: name},
            "required": [ARGUMENT],
        },
        run=_transfer,
    )


def _transfer(ctx: ToolContext, args: dict[str, Any]) -> dict[str, Any] | None:
    """Note the transfer; raises TransferArgumentError for arguments without a name."""
    ctx.actions.transfer_to_agent = wanted_name(args)
    raw = ctx.invocation_context.profile.after_tool_sees == "raw"
    return None if raw else {}


def _note(targets: Sequence[Agent]) -> str:
    listed = "\n".join(
        f"- {each.name}: {each.description}"
        for each in sorted(targets, key=lambda each: each.name)
    )
    return (
        "You can hand over to one of these agents:\n"
        f"{listed}\n"
        "If you are the best to answer by your description, answer. If another one is"
        f" better, call the tool {TRANSFER} with its name and say nothing else."
    )
