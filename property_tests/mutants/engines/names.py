"""Engines that tidy up names and ids: of tools, agents and calls (TOOL, EVT, MSG)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from property_tests.mutants.around import configured
from property_tests.mutants.engines.messages import AS_IT_IS
from property_tests.mutants.models import heard, told
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.messages import History, Message

Change = Callable[[str], str]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _tools(change: Change) -> Door:
    return told(lambda info: replace(info, name=change(info.name)))


def _agents(change: Change) -> Door:
    return configured(lambda config: replace(config, name=change(config.name)))


def _kept(change: Callable[[Sequence[Message]], Sequence[Message]]) -> Patch:
    """Keep other messages than the results of a batch."""

    def replaced(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            direct = right(self, batch)
            first = len(self.history) - len(batch.calls)
            kept = tuple(self.history)
            self.history = History((*kept[:first], *change(kept[first:])))
            return direct

        return settle

    return patch("loop.settle", replaced)


def _each(change: Callable[[Message], Message]) -> Patch:
    return _kept(lambda results: [change(each) for each in results])


def _by_id(same: Change) -> Patch:
    """Keep results in a map by id, so that of equal ones the last counts."""

    def change(results: Sequence[Message]) -> Sequence[Message]:
        texts = {same(each.tool_call_id or ""): each.content for each in results}
        return [
            replace(each, content=texts[same(each.tool_call_id or "")])
            for each in results
        ]

    return _kept(change)


def _lowered_id(message: Message) -> Message:
    return replace(message, tool_call_id=(message.tool_call_id or "").lower())


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


Answer = Callable[[Callable[[str, str], str], str, str], str]


def _unknown(answer: Answer) -> Door:
    """Ask the handler of unknown tools otherwise, or take another answer."""

    def changed(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        tools = config.tools_config
        asked = tools.unknown_tools_handler
        if asked is None:
            return config
        own = replace(tools, unknown_tools_handler=partial(answer, asked))
        return replace(config, tools_config=own)

    return configured(changed)


def _inputs(change: Callable[[Given], None]) -> Patch:
    """Tell wrappers other than what the call is."""

    def replaced(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            change(self.input)
            await right(self, ctx, streaming)

        return opened

    return patch("call.open", replaced)


def _told_once(right: Right) -> Right:
    def settle(self: Given, batch: Given) -> Given:
        seen = set[str]()
        for run in batch.runs:
            if run.call.id in seen:
                run.scope.changed = None
            seen.add(run.call.id)
        return right(self, batch)

    return settle


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
        "tool-names-composed",
        "Tools are offered by names with composed letters.",
        "TOOL-001 TOOL-007",
        _tools(_composed),
        says=AS_IT_IS,
    ),
    wrong(
        "agent-name-composed",
        "An agent is called by its name with composed letters.",
        "EVT-009 CTX-011",
        _agents(_composed),
        says=AS_IT_IS,
    ),
    broken(
        "result-ids-lowered",
        "Results have the ids of their calls in small letters.",
        "MSG-010",
        _each(_lowered_id),
        says=AS_IT_IS,
    ),
    wrong(
        "call-ids-short",
        "Of the id of a call forty characters are kept.",
        "MSG-008 EVT-002",
        _ids(lambda id_: id_[:40]),
        says=AS_IT_IS,
    ),
    broken(
        "results-by-id",
        "Calls that have one id have the result of the last of them.",
        "CONC-014",
        _by_id(str),
    ),
    broken(
        "results-by-lowered-id",
        "Ids that differ in case only stand for one result.",
        "MSG-010",
        _by_id(str.lower),
    ),
    wrong(
        "unknown-arguments-lost",
        "unknown_tools_handler is told no arguments.",
        "TOOL-021",
        _unknown(lambda ask, name, _: ask(name, "{}")),
    ),
    wrong(
        "wrappers-told-composed-arguments",
        "Wrappers are told composed arguments, and the tool its own.",
        "WRAP-002",
        PatchedDoor("wrappers-told-composed-arguments", _told_composed),
        says=AS_IT_IS,
    ),
    broken(
        "ignored-change-once-an-id",
        "Of calls with one id an ignored change is told of the first alone.",
        "WRAP-016",
        patch("loop.settle", _told_once),
    ),
)
