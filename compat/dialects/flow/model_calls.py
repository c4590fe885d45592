"""The model stage of a flow: before hooks, the model, its error, after hooks.

A before hook's value takes the place of the model and of every after hook, and its
error does not reach on_model_error. A recovered error goes through the after hooks like
an answer (adk.md §1.5).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, cast, final

from compat.dialects.flow.content import Content, Part
from compat.dialects.flow.contents import OWN_ID
from compat.dialects.flow.contexts import (
    ActionsDraft,
    CallbackContext,
    InvocationContext,
)
from compat.dialects.flow.events import Actions
from compat.dialects.flow.hooks import AfterModel, BeforeModel, OnModelError
from compat.dialects.flow.model import FlowModel, LlmRequest, LlmResponse
from compat.dialects.flow.run_errors import (
    ModelCallsExceededError,
    ModelGaveNothingError,
)
from compat.dialects.flow.stages import callback_value, plugin_value
from compat.dialects.flow.tracing import span

LIMIT: Final = 500
"""Model calls of one invocation, where the profile has a limit (adk.md §1.3)."""


@final
class ModelStage:
    """The model with its hooks, for one step; ``actions`` is what they wrote so far."""

    def __init__(
        self,
        ctx: InvocationContext,
        model: FlowModel,
        before: Sequence[BeforeModel],
        after: Sequence[AfterModel],
        on_error: Sequence[OnModelError],
    ) -> None:
        self._ctx, self._model = ctx, model
        self._before, self._after, self._on_error = before, after, on_error
        self.actions = ActionsDraft()

    async def responses(self, request: LlmRequest) -> AsyncGenerator[LlmResponse, None]:
        """Yield what the step is to work with: one response, or chunks of one."""
        early = await self._stage("before_model", self._before, request)
        if early is not None:
            yield early
            return
        self._count()
        async with aclosing(self._answers(request)) as answers:
            async for response in answers:
                if self._ctx.profile.call_ids == "before_hooks":
                    content = with_call_ids(response.content, self._ctx)
                    yield await self._left(replace(response, content=content))
                else:
                    yield await self._left(response)

    def taken_actions(self) -> Actions:
        """Return what the hooks of this step wrote so far, for the next event of it.

        Not what they wrote since the last one: that may have been a partial event,
        which is kept nowhere.
        """
        actions = self.actions.made()
        if self._ctx.profile.model_artifacts == "dropped":
            actions = replace(actions, artifact_delta={})
        return actions

    async def _answers(self, request: LlmRequest) -> AsyncGenerator[LlmResponse, None]:
        """Yield what the model gives; its error, if hooks recover it, as a response."""
        given = self._model.generate(request, stream=self._ctx.invocation.stream)
        try:
            with span(self._ctx, "call_llm", model=self._model.name):
                async for response in given:
                    if not isinstance(response, LlmResponse):
                        raise ModelGaveNothingError(self._ctx.agent.name, response)
                    yield response
        except Exception as error:
            recovered = await self._stage(
                "on_model_error", self._on_error, request, error
            )
            if recovered is None:
                raise
            yield recovered

    async def _left(self, response: LlmResponse) -> LlmResponse:
        """Return the response as the after hooks leave it."""
        found = await self._stage("after_model", self._after, response)
        if found is None:
            return response
        if self._ctx.profile.replaced_partial == "inherited":
            return inheriting(found, response)
        return found

    async def _stage(
        self, hook: str, callbacks: Sequence[Callable[..., object]], *args: object
    ) -> LlmResponse | None:
        ctx = CallbackContext(self._ctx, self.actions)
        lost = hook == "after_model" and (
            self._ctx.profile.plugin_after_model_state == "lost"
        )
        shown = CallbackContext(self._ctx, ActionsDraft()) if lost else ctx
        value = await plugin_value(self._ctx, hook, shown, *args)
        if value is None:
            value = await callback_value(self._ctx, hook, callbacks, (ctx, *args))
        return cast("LlmResponse | None", value)

    def _count(self) -> None:
        invocation = self._ctx.invocation
        if invocation.model_calls >= LIMIT and self._ctx.profile.model_calls != "any":
            raise ModelCallsExceededError(self._ctx.agent.name, LIMIT)
        invocation.model_calls += 1


def inheriting(given: LlmResponse, replaced: LlmResponse) -> LlmResponse:
    """Return the response, with what is unset of it that the model call itself was.

    A chunk stays one, and the call still cost what it did.
    """
    return replace(
        given,
        partial=given.partial or replaced.partial,
        turn_complete=given.turn_complete or replaced.turn_complete,
        usage=replaced.usage if given.usage is None else given.usage,
    )


def with_call_ids(content: Content | None, ctx: InvocationContext) -> Content | None:
    """Return the content with an id for each call that has none."""
    if content is None or all(each.id for each in content.calls):
        return content
    return replace(content, parts=tuple(_with_id(each, ctx) for each in content.parts))


def _with_id(part: Part, ctx: InvocationContext) -> Part:
    if part.call is None or part.call.id:
        return part
    call_id = f"{OWN_ID}{ctx.invocation.new_id()}"
    return replace(part, call=replace(part.call, id=call_id))
