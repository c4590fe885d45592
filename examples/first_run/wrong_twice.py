"""Nearly the same as a handler: a short history begins with its instruction twice."""

from __future__ import annotations

from collections.abc import Sequence

from refengine import AgentConfig, Context, Message
from refengine.testing import World


def subject(_: World) -> list[KeepLast]:
    """Return the handler of one session."""
    return [KeepLast()]


class KeepLast:
    """Keeps the instruction and the last four messages."""

    name = "keep_last"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Add the newline that a struct without an instruction of its own adds."""
        config.instruction += "\n"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return the history that the model is sent."""
        return ctx, [*messages[:1], *messages[-4:]]
