"""Engines that are wrong about which tool a call runs, if it runs any (TOOL)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import configured, under, with_tools_config
from property_tests.mutants.engines.tools import names, planned
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.agent import ChatModelAgentConfig
from refengine.errors import ToolNotFound
from refengine.messages import ToolCall
from refengine.tool_calls import UnknownCall


def _default_bound(_: Given, left: Given) -> Given:
    """Bind no tools that handlers added."""
    known = names(left.registered)
    runnable = tuple(meta for meta in left.runnable if meta.name in known)
    return replace(left, runnable=runnable)


def _removed_run(_: Given, left: Given) -> Given:
    """Let the tools that handlers removed run."""
    gone = [m for m in left.registered if m.name not in names(left.runnable)]
    return replace(left, runnable=(*left.runnable, *gone))


def _first_called(right: Right) -> Right:
    """Call the tool of the first call for all of them."""

    def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Given) -> Given:
        calls = [replace(each, name=calls[0].name) for each in calls]
        return right(self, calls, ctx)

    return batch_of


def _answered_by(answer: Callable[[str, str], str], *, has: bool) -> Door:
    """Give agents that have an unknown_tools_handler, or have none, this one."""

    def change(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        tools = config.tools_config
        if (tools.unknown_tools_handler is not None) is not has:
            return config
        changed = replace(tools, unknown_tools_handler=answer)
        return replace(config, tools_config=changed)

    return configured(change)


def _over_when_answered(right: Right) -> Right:
    """End the run after a message of which unknown_tools_handler answered a call."""

    def settle(self: Given, batch: Given) -> Given:
        is_over = right(self, batch)
        return is_over or any(isinstance(each, UnknownCall) for each in batch.calls)

    return settle


def _through_wrappers(right: Right) -> Right:
    """Send what unknown_tools_handler answers through the wrappers."""

    def prepare_call(self: Given, call: ToolCall, bound: Given) -> Given:
        run = right(self, call, bound)
        if not isinstance(run, UnknownCall):
            return run
        run.ask()
        return self.absent_call(call, run.text)

    return prepare_call


def _fail_late(right: Right) -> Right:
    """Run the calls whose tools are there before the unknown one ends the run."""

    def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Given) -> Given:
        try:
            return right(self, calls, ctx)
        except ToolNotFound as error:
            known = [call for call in calls if call.name in self.bound]
            return _LateBatch(right(self, known, ctx), error)

    return batch_of


class _LateBatch:
    """A batch that fails in the end."""

    def __init__(self, batch: Given, error: Exception) -> None:
        self._batch = batch
        self._error = error

    async def next_event(self) -> Given:
        event = await self._batch.next_event()
        if event is None:
            raise self._error
        return event

    def __getattr__(self, name: str) -> Given:
        return getattr(self._batch, name)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "added-tools-not-bound",
        "Tools that handlers add are offered, but a call of one does not find it.",
        "TOOL-016",
        planned(_default_bound),
    ),
    broken(
        "first-tool-runs",
        "Every call of a message runs the tool of the first.",
        "TOOL-016",
        patch("loop.batch_of", _first_called),
    ),
    broken(
        "removed-tools-run",
        "A tool that a handler removed is not offered, but a call of it runs.",
        "TOOL-017",
        planned(_removed_run),
    ),
    wrong(
        "taken-out-tools-run",
        "A tool that a wrapper took out of the request is called all the same.",
        "TOOL-018",
        under("hidden_tool", "runs"),
    ),
    wrong(
        "unknown-tools-answered",
        "A call of an unknown tool does not end the run; the model is told of it.",
        "TOOL-019",
        under("unknown_tool", "answered"),
    ),
    wrong(
        "run-answers-unknown-tools",
        "A call of a tool that is not there has a result that says so, without event.",
        "TOOL-019",
        _answered_by(lambda name, _: f"there is no {name}", has=False),
    ),
    broken(
        "unknown-answer-ends-the-run",
        "What unknown_tools_handler answers is the end of the run.",
        "TOOL-021",
        patch("loop.settle", _over_when_answered),
    ),
    wrong(
        "unknown-tools-handler-ignored",
        "A call of an unknown tool ends the run though unknown_tools_handler is there.",
        "TOOL-019",
        with_tools_config(unknown_tools_handler=None),
    ),
    broken(
        "siblings-run-first",
        "The calls before one of an unknown tool run, and then the run ends.",
        "TOOL-020",
        patch("loop.batch_of", _fail_late),
    ),
    wrong(
        "unknown-text-lost",
        "The result of an unknown call is the tool's name and not the handler's text.",
        "TOOL-021",
        _answered_by(lambda name, _: name, has=True),
    ),
    broken(
        "unknown-calls-wrapped",
        "What unknown_tools_handler answers goes through the wrappers, with an event.",
        "TOOL-022",
        patch("loop.prepare_call", _through_wrappers),
    ),
)
