"""Mutants of stages: who is entered when, and what becomes of what he gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.steps import broken, step
from property_tests.mutants.patching import Given, Patch, Right

Hooks = Callable[..., Given]

SIDES: Final = ("plugin_value", "callback_value")


def both(owner: str, make: Callable[[Right, str], Hooks]) -> Sequence[Patch]:
    """Return patches of both sides of a stage; ``make`` is told which side it is."""
    return [step(f"{owner}.{side}", partial(_of_side, make, side)) for side in SIDES]


def _of_side(make: Callable[[Right, str], Hooks], side: str, right: Right) -> Hooks:
    return make(right, side)


def _hook_args(side: str, args: tuple[Given, ...]) -> tuple[Given, ...]:
    """Return what a hook is given, of the arguments of its side of a stage."""
    return args if side == "plugin_value" else args[1]


def discarding(hook: str, owner: str) -> Sequence[Patch]:
    """Enter a hook, and forget what it gives."""

    def make(right: Right, side: str) -> Hooks:
        del side

        async def wrong(ctx: Given, name: str, *args: Given, **how: Given) -> Given:
            value = await right(ctx, name, *args, **how)
            return None if name == hook else value

        return wrong

    return both(owner, make)


def swallowing(hook: str, owner: str) -> Sequence[Patch]:
    """Enter a hook, and forget what it raises."""

    def make(right: Right, side: str) -> Hooks:
        del side

        async def wrong(ctx: Given, name: str, *args: Given, **how: Given) -> Given:
            try:
                return await right(ctx, name, *args, **how)
            except Exception:
                if name != hook:
                    raise
                return None

        return wrong

    return both(owner, make)


def skipping(
    hook: str, owner: str, when: Callable[[tuple[Given, ...]], bool]
) -> Sequence[Patch]:
    """Enter no hook where what it would be given is so."""

    def make(right: Right, side: str) -> Hooks:
        async def wrong(ctx: Given, name: str, *args: Given, **how: Given) -> Given:
            if name == hook and when(_hook_args(side, args)):
                return None
            return await right(ctx, name, *args, **how)

        return wrong

    return both(owner, make)


def copying(hook: str, owner: str, at: int) -> Sequence[Patch]:
    """Give hooks a copy of what they may change in place."""

    def copied(given: tuple[Given, ...]) -> tuple[Given, ...]:
        other = copy(given[at])
        if hasattr(other, "contents"):
            other.contents = list(other.contents)
        return (*given[:at], other, *given[at + 1 :])

    def make(right: Right, side: str) -> Hooks:
        async def wrong(ctx: Given, name: str, *args: Given, **how: Given) -> Given:
            if name == hook and side == "plugin_value":
                args = copied(args)
            elif name == hook:
                args = (args[0], copied(args[1]), *args[2:])
            return await right(ctx, name, *args, **how)

        return wrong

    return both(owner, make)


def forgetful_after(
    first: str, then: str, owner: str, *, error: bool
) -> Sequence[Patch]:
    """Enter no second hook of a call, or of a response, behind what a first one did."""
    known: list[Given] = []

    def make(right: Right, side: str) -> Hooks:
        async def wrong(ctx: Given, name: str, *args: Given, **how: Given) -> Given:
            given = _hook_args(side, args)
            about = getattr(given[0], "call_id", None)
            if name == then and (about in known or given[-1] in known):
                return None
            try:
                value = await right(ctx, name, *args, **how)
            except Exception:
                if name == first and error:
                    known.append(about)
                raise
            if name == first and value is not None and not error:
                known.append(value if about is None else about)
            return value

        return wrong

    return both(owner, make)


def _swapped(owner: str) -> Sequence[Patch]:
    """Enter callbacks first, then plugins."""

    def plugins_later(_: Right) -> Hooks:
        async def wrong(*_: Given) -> None:
            return None

        return wrong

    [plugins] = [step(f"{owner}.plugin_value", plugins_later)]

    def callbacks_first(right: Right) -> Hooks:
        from compat.dialects.flow.stages import plugin_value  # noqa: PLC0415  # the right one

        async def wrong(
            ctx: Given, name: str, callbacks: Given, given: Given, *how: Given
        ) -> Given:
            value = await right(ctx, name, callbacks, given, *how)
            return await plugin_value(ctx, name, *given) if value is None else value

        return wrong

    return [plugins, step(f"{owner}.callback_value", callbacks_first)]


def _reversed_plugins() -> Sequence[Patch]:
    def wrong(right: Right) -> Hooks:
        def wrong(self: Given, hook: Given) -> Given:
            return iter([*right(self, hook)][::-1])

        return wrong

    return [step("plugins.having", wrong)]


def _reversed_callbacks() -> Sequence[Patch]:
    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, callbacks: Given, *args: Given) -> Given:
            mine = [*callbacks][::-1] if name.startswith("after") else callbacks
            return await right(ctx, name, mine, *args)

        return wrong

    return [step(f"{x}.callback_value", make) for x in ("model", "tool")]


def _entering_all(owner: str) -> Sequence[Patch]:
    """Enter all callbacks of a list, and take the first value."""

    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, callbacks: Given, *args: Given) -> Given:
            found = [await right(ctx, name, [each], *args) for each in callbacks]
            return next((each for each in found if each is not None), None)

        return wrong

    return [step(f"{owner}.callback_value", make)]


def _going_on_after_errors(owner: str) -> Sequence[Patch]:
    """Enter the rest of a list behind an error, which leaves in the end."""

    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, callbacks: Given, *args: Given) -> Given:
            errors: list[Exception] = []
            value = None
            for each in callbacks:
                try:
                    value = value or await right(ctx, name, [each], *args)
                except Exception as error:  # noqa: BLE001  # raised below
                    errors.append(error)
            if errors:
                raise errors[0]
            return value

        return wrong

    return [step(f"{owner}.callback_value", make)]


def _turned_round() -> Sequence[Patch]:
    """Enter the plugins' hooks behind an agent before it, and the other way round."""
    other = {"before_agent": "after_agent", "after_agent": "before_agent"}

    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, *args: Given) -> Given:
            return await right(ctx, other.get(name, name), *args)

        return wrong

    return [step("agent.plugin_value", make)]


def _recovering_from_guards() -> Sequence[Patch]:
    """Let on_model_error recover from what a before_model hook raised."""

    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, callbacks: Given, given: Given) -> Given:
            try:
                return await right(ctx, name, callbacks, given)
            except Exception as error:
                if name != "before_model":
                    raise
                mine = ctx.agent.on_model_error
                return await right(ctx, "on_model_error", mine, (*given, error))

        return wrong

    return [step("model.callback_value", make)]


def _silent_model_errors() -> Sequence[Patch]:
    """Make an empty answer of a model's error that nobody covered."""

    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, callbacks: Given, given: Given) -> Given:
            value = await right(ctx, name, callbacks, given)
            if name == "on_model_error" and value is None:
                from compat.dialects.flow.model import LlmResponse  # noqa: PLC0415  # only here

                return LlmResponse(error_code="failed")
            return value

        return wrong

    return [step("model.callback_value", make)]


def _result_as_arguments() -> Sequence[Patch]:
    """Take what a before_tool hook gives for the tool's arguments."""

    def make(right: Right) -> Hooks:
        async def wrong(
            ctx: Given, name: str, callbacks: Given, given: Given, *how: Given
        ) -> Given:
            value = await right(ctx, name, callbacks, given, *how)
            if name == "before_tool" and value is not None:
                given[-1].update(value)
                return None
            return value

        return wrong

    return [step("tool.callback_value", make)]


def _is_partial(given: tuple[Given, ...]) -> bool:
    return bool(given[-1].partial)


HOOKS: Final[tuple[DialectMutant, ...]] = (
    broken(
        "flow-turned-round",
        "Plugins are told of an agent's end where it begins.",
        "FLOW-001",
        _turned_round,
    ),
    broken(
        "flow-callbacks-first",
        "An agent's callbacks are entered before the plugins.",
        "FLOW-002",
        lambda: _swapped("model"),
    ),
    broken(
        "flow-plugins-backwards",
        "Plugins are entered from the last to the first.",
        "FLOW-003",
        _reversed_plugins,
    ),
    broken(
        "flow-after-backwards",
        "After hooks are entered backwards, as wrappers would be.",
        "FLOW-004",
        _reversed_callbacks,
    ),
    broken(
        "flow-all-entered",
        "A value ends no list: all callbacks are entered, and the first value counts.",
        "FLOW-005",
        lambda: _entering_all("model"),
    ),
    broken(
        "flow-errors-end-no-list",
        "Callbacks behind one that raised are entered all the same.",
        "FLOW-006",
        lambda: _going_on_after_errors("model"),
    ),
    broken(
        "flow-before-model-lost",
        "What a before_model hook gives is forgotten, and the model asked.",
        "FLOW-020",
        lambda: discarding("before_model", "model"),
    ),
    broken(
        "flow-guard-recovered",
        "What a before_model hook raises is handed to on_model_error.",
        "FLOW-021",
        _recovering_from_guards,
    ),
    broken(
        "flow-recovered-unseen",
        "What on_model_error gives goes past after_model.",
        "FLOW-022",
        lambda: forgetful_after("on_model_error", "after_model", "model", error=False),
    ),
    broken(
        "flow-error-of-error-lost",
        "What an on_model_error hook raises is forgotten.",
        "FLOW-023",
        lambda: swallowing("on_model_error", "model"),
    ),
    broken(
        "flow-silent-model-error",
        "A model's error that nobody covered becomes an empty answer.",
        "FLOW-024",
        _silent_model_errors,
    ),
    broken(
        "flow-after-model-lost",
        "What an after_model hook gives is forgotten.",
        "FLOW-025",
        lambda: discarding("after_model", "model"),
    ),
    broken(
        "flow-after-model-at-end",
        "After_model hooks see no partial response.",
        "FLOW-026",
        lambda: skipping("after_model", "model", _is_partial),
    ),
    broken(
        "flow-after-model-error-lost",
        "What an after_model hook raises is forgotten.",
        "FLOW-027",
        lambda: swallowing("after_model", "model"),
    ),
    broken(
        "flow-request-copied",
        "Before_model hooks are given a copy of the request.",
        "FLOW-028",
        lambda: copying("before_model", "model", 1),
    ),
    broken(
        "flow-before-tool-lost",
        "What a before_tool hook gives is forgotten, and the tool run.",
        "FLOW-040",
        lambda: discarding("before_tool", "tool"),
    ),
    broken(
        "flow-result-as-arguments",
        "What a before_tool hook gives are the arguments, as the seed reads.",
        "FLOW-040",
        _result_as_arguments,
    ),
    broken(
        "flow-short-cut-unseen",
        "After_tool is not entered where a before_tool hook answered.",
        "FLOW-041",
        lambda: forgetful_after("before_tool", "after_tool", "tool", error=False),
    ),
    broken(
        "flow-tool-error-value-lost",
        "What an on_tool_error hook gives is forgotten.",
        "FLOW-042",
        lambda: discarding("on_tool_error", "tool"),
    ),
    broken(
        "flow-after-tool-lost",
        "What an after_tool hook gives is forgotten.",
        "FLOW-044",
        lambda: discarding("after_tool", "tool"),
    ),
    broken(
        "flow-guard-error-unseen",
        "On_tool_error is not entered for what a before_tool hook raised.",
        "FLOW-046",
        lambda: forgetful_after("before_tool", "on_tool_error", "tool", error=True),
    ),
    broken(
        "flow-arguments-copied",
        "Before_tool hooks are given a copy of the arguments.",
        "FLOW-049",
        lambda: copying("before_tool", "tool", 2),
    ),
    broken(
        "flow-before-agent-lost",
        "What a before_agent hook says is forgotten, and the agent runs.",
        "FLOW-060",
        lambda: discarding("before_agent", "agent"),
    ),
    broken(
        "flow-after-agent-lost",
        "What an after_agent hook says is forgotten.",
        "FLOW-061",
        lambda: discarding("after_agent", "agent"),
    ),
    broken(
        "flow-user-message-lost",
        "What on_user_message gives is forgotten.",
        "FLOW-070",
        lambda: [_runner_side("on_user_message")],
    ),
    broken(
        "flow-before-run-lost",
        "What before_run gives is forgotten, and the agents run.",
        "FLOW-071",
        lambda: [_runner_side("before_run")],
    ),
    broken(
        "flow-on-event-lost",
        "What on_event gives is forgotten.",
        "FLOW-072",
        lambda: [_runner_side("on_event")],
    ),
)
"""All of them."""


def _runner_side(hook: str) -> Patch:
    """Return the patch that forgets what plugins give to a runner."""

    def make(right: Right) -> Hooks:
        async def wrong(ctx: Given, name: str, *args: Given) -> Given:
            value = await right(ctx, name, *args)
            return None if name == hook else value

        return wrong

    return step("runner.plugin_value", make)
