"""Engines that are wrong about what a history is made of, or tidy it up (MSG, TOOL)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.models import heard, sent
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    Right,
    patch,
    wrong,
)
from refengine.messages import Message


def begun(change: Callable[[Given], None]) -> Patch:
    """Change a run before its first step; one that was kept has had it."""

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            if not self.iterations:
                change(self)
            return right(self)

        return start

    return patch("loop.start", replaced)


AS_IT_IS: Final = "Texts and names reach the model byte for byte."


def _each(change: Callable[[Message], Message]) -> Door:
    return sent(lambda messages: list(map(change, messages)))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _of(role: str, change: Callable[[str], str]) -> Door:
    """Send the model other texts of one role."""
    return _each(
        lambda each: (
            replace(each, content=change(each.content)) if each.role == role else each
        )
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "unanswered-calls-refused",
        "A history with a call that has no result is refused.",
        "MSG-018",
        under("unanswered_calls", "refused"),
    ),
    wrong(
        "unanswered-calls-sent",
        "A call without a result is sent where the profile refuses it.",
        "MSG-018",
        under("unanswered_calls", "sent"),
        under="langgraph-prebuilt-1",
    ),
    wrong(
        "user-texts-decomposed",
        "The model is sent the user's texts with decomposed letters.",
        "MSG-002 MSG-004",
        _of("user", _decomposed),
        says=AS_IT_IS,
    ),
    wrong(
        "answers-composed",
        "Answers of the model are heard with composed letters.",
        "MSG-008 MSG-007",
        heard(lambda heard: replace(heard, content=_composed(heard.content))),
        says=AS_IT_IS,
    ),
)
