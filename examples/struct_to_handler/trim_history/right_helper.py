"""Keeps the last messages of a long history: a function and a helper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from typing import Final

from refengine import (
    Context,
    Message,
    with_before_model_rewrite_history,
    with_instruction_func,
)
from refengine.testing import World

KEEP: Final = 6
"""So many messages stay, the system message aside."""


def subject(_: World) -> list[object]:
    """Return the handler of one session."""
    return [with_instruction_func(newline), with_before_model_rewrite_history(trim)]


def newline(ctx: Context, instruction: str) -> tuple[Context, str]:
    """Leave the newline that a struct without an instruction leaves."""
    return ctx, f"{instruction}\n"


def trim(
    ctx: Context, messages: Sequence[Message]
) -> tuple[Context, Sequence[Message]]:
    """Return the system message and the last ones, from a call's own message on."""
    system = [each for each in messages[:1] if each.role == "system"]
    last = messages[len(system) :][-KEEP:]
    return ctx, [*system, *dropwhile(lambda each: each.role == "tool", last)]
