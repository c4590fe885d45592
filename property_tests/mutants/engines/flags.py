"""Engines that go by the wrong calls: direct ones, rewritten ones, hidden ones (RD)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import configured
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
from refengine.chain import SCOPE
from refengine.context import Context
from refengine.messages import Message, ToolCall
from refengine.tools import ToolCallInput, ToolMeta, as_meta

FOR_ONE_CALL: Final = "What a wrapper takes out of a request is hidden in that call."


def _raw_answer() -> Sequence[Patch]:
    """Answer with what the direct tool gave, before any wrapper changed it."""
    raw: list[tuple[Given, str]] = []

    def invoking(right: Right) -> Right:
        async def invoke(ctx: Context, value: ToolCallInput) -> Given:
            result = await right(ctx, value)
            raw.append((SCOPE.get(), result.result))
            return result

        return invoke

    def settling(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            direct = self.direct_call(batch.calls)
            ended = right(self, batch)
            for scope, text in raw:
                if direct is not None and getattr(direct, "scope", None) is scope:
                    self.answer = replace(self.answer, content=text)
            return ended

        return settle

    return patch("tool.invoke", invoking), patch("loop.settle", settling)


def _hidden_for_ever(right: Right) -> Right:
    """Show in later iterations what the model was shown in the one before."""

    def next_iteration(self: Given) -> Given:
        call = self.model_call
        if call is not None:
            names = {info.name for info in call.shown}
            shown = tuple(info for info in self.plan.shown if info.name in names)
            self.plan = replace(self.plan, shown=shown)
        return right(self)

    return next_iteration


def _run_where_streamed(right: Right) -> Right:
    def prepare_call(self: Given, call: ToolCall, bound: Given) -> Given:
        asked = self.model_call
        if self.streaming:
            self.model_call = None
        try:
            return right(self, call, bound)
        finally:
            self.model_call = asked

    return prepare_call


def _one_call_late() -> Sequence[Patch]:
    """Go by what was taken out of the request before the last one."""
    calls: dict[Given, list[Given]] = {}

    def replaced(right: Right) -> Right:
        def batch_of(self: Given, *given: Given) -> Given:
            own = calls.setdefault(self, [None])
            asked = self.model_call
            own.append(asked)
            self.model_call = own[-2]
            try:
                return right(self, *given)
            finally:
                self.model_call = asked

        return batch_of

    return (patch("loop.batch_of", replaced),)


def _of_the_model(counts: Callable[[Given, Given, Mapping[str, str]], bool]) -> Door:
    """Tell direct calls by what the model asked for, whatever hooks made of it."""

    def patches() -> Sequence[Patch]:
        asked: dict[Given, Mapping[str, str]] = {}

        def route(right: Right) -> Right:
            def chosen(self: Given, response: Message) -> Given:
                asked[self] = {each.id: each.name for each in response.tool_calls}
                return right(self, response)

            return chosen

        def direct(_: Right) -> Right:
            def direct_call(self: Given, runs: Sequence[Given]) -> Given:
                found = [each for each in runs if counts(self, each, asked[self])]
                return found[-1] if found else None

            return direct_call

        return patch("loop.route", route), patch("loop.direct_call", direct)

    return PatchedDoor("of-the-model", patches)


def _asked_for(run: Given, call: Given, asked: Mapping[str, str]) -> bool:
    """Tell whether a call is direct, and one that the model itself asked for."""
    name = call.call.name
    return name in run.plan.direct and asked.get(call.call.id) == name


def _was_direct(run: Given, call: Given, asked: Mapping[str, str]) -> bool:
    """Tell whether the call of that id was direct when the model asked for it."""
    return asked.get(call.call.id, call.call.name) in run.plan.direct


def _by_input(*, ends: bool) -> Patch:
    """Go by the name that wrappers left in the input of a call."""

    def replaced(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            direct = right(self, batch)
            names = {each.input.name for each in batch.runs}
            flagged = bool(names & self.plan.direct)
            if ends and flagged and not direct:
                self.answer = batch.calls[-1].message()
                return True
            return direct and (ends or flagged)

        return settle

    return patch("loop.settle", replaced)


def _silent_goes_on(right: Right) -> Right:
    def settle(self: Given, batch: Given) -> Given:
        return right(self, batch) and bool(self.answer.content)

    return settle


def _loosely_named(right: Right) -> Right:
    """Find the flag of a name by its letters."""

    def direct_call(self: Given, runs: Sequence[Given]) -> Given:
        letters = {name.strip().casefold() for name in self.plan.direct}
        near = [each for each in runs if each.call.name.strip().casefold() in letters]
        return right(self, runs) or (near[-1] if near else None)

    return direct_call


def _hidden_run(where: Callable[[Given, ToolCall], bool]) -> Patch:
    """Run calls of some tools that were taken out of the request."""

    def replaced(right: Right) -> Right:
        def prepare_call(self: Given, call: ToolCall, bound: object) -> Given:
            asked = self.model_call
            self.model_call = None if where(self, call) else asked
            try:
                return right(self, call, bound)
            finally:
                self.model_call = asked

        return prepare_call

    return patch("loop.prepare_call", replaced)


def _is_direct(run: Given, call: ToolCall) -> bool:
    return call.name in run.plan.direct


def _was_added(run: Given, call: ToolCall) -> bool:
    return all(meta.name != call.name for meta in run.plan.registered)


def _flags_outlive() -> Sequence[Patch]:
    gone: dict[str, bool | None] = {}

    def planning(right: Right) -> Right:
        async def plan(self: Given, *given: Given) -> Given:
            gone.clear()
            return await right(self, *given)

        return plan

    def folding(right: Right) -> Right:
        def update(self: Given, left: Sequence[Given]) -> Given:
            before = {each.name: each.return_directly for each in self.metas}
            metas, names = right(self, [_with_flag(each, gone) for each in left])
            gone.update({name: before[name] for name in names})
            return metas, names

        return update

    return patch("planner.plan", planning), patch("planner.fold", folding)


def _with_flag(tool: Given, flags: Mapping[str, bool | None]) -> ToolMeta:
    meta = as_meta(tool)
    if meta.return_directly is None and meta.name in flags:
        return replace(meta, return_directly=flags[meta.name])
    return meta


def _without_replaced(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
    tools = config.tools_config
    added = {
        as_meta(tool).name
        for each in config.middlewares
        for tool in each.additional_tools
    }
    replaced = added.intersection(as_meta(each).name for each in tools.tools)
    flags = {k: v for k, v in tools.return_directly.items() if k not in replaced}
    return replace(config, tools_config=replace(tools, return_directly=flags))


def _answer_by_id(right: Right) -> Right:
    def settle(self: Given, batch: Given) -> Given:
        direct = right(self, batch)
        if direct:
            id_ = self.answer.tool_call_id
            found = (each for each in batch.calls if each.call.id == id_)
            self.answer = next(found).message()
        return direct

    return settle


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "raw-direct-answer",
        "The answer of a direct call is what the tool gave, before its wrappers.",
        "RD-010",
        PatchedDoor("raw-direct-answer", _raw_answer),
    ),
    broken(
        "hidden-for-ever",
        "A tool that a wrapper took out of one request is in none after it.",
        "TOOL-010",
        patch("loop.next_iteration", _hidden_for_ever),
        says=FOR_ONE_CALL,
    ),
    broken(
        "hidden-tools-run-where-streamed",
        "In a streaming run a tool that was taken out of the request runs.",
        "TOOL-018",
        patch("loop.prepare_call", _run_where_streamed),
    ),
    wrong(
        "hidden-one-call-late",
        "What was taken out of a request is unknown in the iteration after it.",
        "TOOL-018",
        PatchedDoor("hidden-one-call-late", _one_call_late),
        says=FOR_ONE_CALL,
    ),
    wrong(
        "direct-if-asked-for",
        "A direct call that a hook put into an answer ends no run.",
        "RD-001",
        _of_the_model(_asked_for),
    ),
    wrong(
        "direct-as-asked-for",
        "A direct call that a hook made an ordinary one ends the run.",
        "RD-002",
        _of_the_model(_was_direct),
    ),
    broken(
        "direct-by-new-name",
        "A call that a wrapper renamed to a direct one ends the run.",
        "RD-002 WRAP-014",
        _by_input(ends=True),
    ),
    broken(
        "direct-lost-by-new-name",
        "A direct call that a wrapper renamed to another one ends no run.",
        "RD-001 RD-004 WRAP-014",
        _by_input(ends=False),
    ),
    broken(
        "direct-but-silent",
        "A direct call whose result is empty ends no run.",
        "RD-001",
        patch("loop.settle", _silent_goes_on),
    ),
    broken(
        "direct-by-letters",
        "A flag counts for a name that differs in case or space.",
        "RD-002",
        patch("loop.direct_call", _loosely_named),
    ),
    broken(
        "hidden-direct-tools-run",
        "A tool that the request lacked runs if it returns directly.",
        "TOOL-018",
        _hidden_run(_is_direct),
    ),
    broken(
        "hidden-added-tools-run",
        "A tool that the request lacked runs if a handler added it.",
        "TOOL-018",
        _hidden_run(_was_added),
    ),
    wrong(
        "flag-outlives-its-tool",
        "A tool that is added again has the flag with which it was removed.",
        "RD-007",
        PatchedDoor("flag-outlives-its-tool", _flags_outlive),
    ),
    wrong(
        "replaced-tool-without-flag",
        "A struct's tool that takes a configured one's place is not a direct one.",
        "RD-001",
        configured(_without_replaced),
    ),
    broken(
        "direct-answer-by-id",
        "The answer of a direct call is the first result under its id.",
        "RD-010",
        patch("loop.settle", _answer_by_id),
    ),
)
