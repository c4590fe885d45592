"""Instructions: the root's for the whole tree, then the agent's own."""

from __future__ import annotations

from compat.dialects.flow.agents import InstructionProvider, LlmAgent
from compat.dialects.flow.contexts import (
    ActionsDraft,
    CallbackContext,
    InvocationContext,
    ReadonlyContext,
)
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.processors.asked import asking_agent
from compat.dialects.flow.run_errors import AgentFieldError
from compat.dialects.flow.templates import fill_template
from refengine.awaiting import settled


async def add_instructions(
    ctx: InvocationContext, request: LlmRequest, _: object
) -> None:
    """Add both to the system instruction, their places filled from the session.

    What a provider returns is used as it is.
    """
    root, agent = ctx.invocation.tree.root, asking_agent(ctx)
    if isinstance(root, LlmAgent):
        provider = root.global_instruction_provider
        text = await _instruction(ctx, root.global_instruction, provider)
        request.append_instructions(text)
    text = await _instruction(ctx, agent.instruction, agent.instruction_provider)
    request.append_instructions(text)


async def _instruction(
    ctx: InvocationContext, template: str, provider: InstructionProvider | None
) -> str:
    if provider is not None:
        text = await settled(provider(ReadonlyContext(ctx)))
        if not isinstance(text, str):
            field, wanted = "instruction_provider", "one that returns a text"
            raise AgentFieldError(ctx.agent.name, field, text, wanted)
        return text
    has_files = ctx.invocation.artifact_service is not None
    load = CallbackContext(ctx, ActionsDraft()).load_artifact if has_files else None
    return await fill_template(template, ctx.session.state, load, ctx.profile)
