"""Engines that tidy up names and ids: of tools, agents and calls (TOOL, EVT, MSG)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines.messages import AS_IT_IS
from property_tests.mutants.models import heard
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    patch,
    wrong,
)
from refengine.context import Context

Change = Callable[[str], str]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _ids(change: Change) -> Door:
    """Give calls other ids as soon as the model has asked for them."""
    return heard(
        lambda got: replace(
            got,
            tool_calls=tuple(
                replace(call, id=change(call.id or "")) for call in got.tool_calls
            ),
        )
    )


def _inputs(change: Callable[[Given], None]) -> Patch:
    """Tell wrappers other than what the call is."""

    def replaced(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            change(self.input)
            await right(self, ctx, streaming)

        return opened

    return patch("call.open", replaced)


def _told_composed() -> Sequence[Patch]:
    """Show wrappers composed arguments, and give the tool its own."""
    own: dict[str, str] = {}

    def compose(given: Given) -> None:
        own[_composed(given.arguments)] = given.arguments
        given.arguments = _composed(given.arguments)

    def replaced(right: Right) -> Right:
        async def run(ctx: Context, value: Given) -> Given:
            value.arguments = own.get(value.arguments, value.arguments)
            return await right(ctx, value)

        return run

    return (
        _inputs(compose),
        patch("tool.invoke", replaced),
        patch("tool.stream", replaced),
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "call-ids-short",
        "Of the id of a call forty characters are kept.",
        "MSG-008 EVT-002",
        _ids(lambda id_: id_[:40]),
        says=AS_IT_IS,
    ),
    wrong(
        "wrappers-told-composed-arguments",
        "Wrappers are told composed arguments, and the tool its own.",
        "WRAP-002",
        PatchedDoor("wrappers-told-composed-arguments", _told_composed),
        says=AS_IT_IS,
    ),
)
