"""Engines that are wrong about other models to ask, and about the wait (ERR)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from property_tests.mutants.around import configured
from property_tests.mutants.engines.retrying import with_policy
from property_tests.mutants.models import Ask, Asked, ChangedModel, later_models
from property_tests.mutants.mutant import Mutant
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
from refengine.errors import HookError
from refengine.model_calls import Backoff, ModelRetry, Verdict, every_error
from refengine.tools import NO_OPTIONS


def _asked_for(ask: Ask) -> Callable[[Any], Any]:
    return lambda model: ChangedModel(model, ask)


def _no_options(given: Asked) -> Asked:
    return given[0], given[1], NO_OPTIONS


def _no_tools(given: Asked) -> Asked:
    return given[0], (), given[2]


def _last_message(given: Asked) -> Asked:
    return given[0][-1:], given[1], given[2]


def _backwards(retry: ModelRetry) -> ModelRetry:
    return replace(retry, fall_back=retry.fall_back[::-1])


def _first_only(retry: ModelRetry) -> ModelRetry:
    return replace(retry, fall_back=retry.fall_back[:1])


def _once_each(right: Right) -> Right:
    """Give up after so many attempts as there are retries and models."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        if attempt >= 1 + self.max_retries + len(self.fall_back):
            return right(self, max(attempt, self.attempts), error, leaving)
        return right(self, attempt, error, leaving)

    return after


def _waiting(
    change: Callable[[Backoff], Backoff],
) -> Callable[[ModelRetry], ModelRetry]:
    return lambda retry: replace(retry, backoff=change(retry.backoff))


def _twice_as_long(backoff: Backoff) -> Backoff:
    return lambda retry: 2 * backoff(retry)


def _in_vain(backoff: Backoff) -> Backoff:
    """Ask how long to wait, and do not wait."""
    return lambda retry: 0 * backoff(retry)


def _as_the_first_time(backoff: Backoff) -> Backoff:
    """Wait before each retry as before the first one asked for."""
    waits: list[float] = []

    def seconds(retry: int) -> float:
        waits.append(backoff(retry))
        return waits[0]

    return seconds


def _between_models(right: Right) -> Right:
    """Wait before another model is asked, too."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        verdict = right(self, attempt, error, leaving)
        other = attempt % (1 + self.max_retries) == 0
        return replace(verdict, wait=0.5) if other and verdict.wait == 0 else verdict

    return after


def _counted_through(right: Right) -> Right:
    """Ask the backoff for the number of the attempt, whichever model it was."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        def seconds(_: int) -> float:
            return float(self.backoff(attempt))

        policy = replace(self, backoff=seconds)
        return right(policy, attempt, error, leaving)

    return after


def _own_error(leaving: Exception) -> bool:
    return isinstance(leaving, HookError)


def _wrappers_retried(right: Right) -> Right:
    """Ask again whenever it was a wrapper that raised."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        policy = replace(self, retry_on=every_error) if _own_error(leaving) else self
        return right(policy, attempt, error, leaving)

    return after


def _wrappers_final(right: Right) -> Right:
    """Ask nobody again where it was a wrapper that raised."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        if _own_error(leaving):
            return Verdict(None, error, leaving)
        return right(self, attempt, error, leaving)

    return after


def _noting(moved: list[int]) -> Patch:
    """Put down each attempt after which another model is asked."""

    def replaced(right: Right) -> Right:
        def after(
            self: Given, attempt: int, error: Exception, leaving: Exception
        ) -> Given:
            verdict = right(self, attempt, error, leaving)
            if verdict.wait is not None and attempt % (1 + self.max_retries) == 0:
                moved.append(attempt)
            return verdict

        return after

    return patch("retry.after", replaced)


def _only_unopened() -> Sequence[Patch]:
    """Fall back where a call failed, and not where its stream broke."""
    moved: list[int] = []

    def replaced(right: Right) -> Right:
        async def broke(self: Given, error: Exception) -> None:
            call, number = self.call, self.number
            await right(self, error)
            if number in moved:  # decided when the consumer came upon it
                raise call.leaving(error) from error

        return broke

    return _noting(moved), patch("attempts.broke", replaced)


def _models_counted() -> Sequence[Patch]:
    """Count each further model as an iteration."""
    moved: list[int] = []

    def replaced(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            came = await right(self, ctx)
            if came is None and moved:
                moved.clear()
                self.iterations += 1
            return came

        return ask

    places = ("loop.ask_model", "loop.open_answer")
    return _noting(moved), *(patch(each, replaced) for each in places)


def _one_that_answered(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
    """Ask in the agent's model's place whoever was the last to answer."""
    if config.retry is None or not config.retry.fall_back:
        return config
    first = _Remembering(config.model)
    others = tuple(_Noted(each, first) for each in config.retry.fall_back)
    return replace(config, model=first, retry=replace(config.retry, fall_back=others))


class _Remembering:
    """A model in whose place the last one that answered is asked."""

    def __init__(self, model: Given) -> None:
        self.last = model

    async def invoke(self, *given: Given) -> Given:
        return await self.last.invoke(*given)

    async def stream(self, *given: Given) -> Given:
        return await self.last.stream(*given)


class _Noted:
    """A model that is remembered once it was reached."""

    def __init__(self, model: Given, first: _Remembering) -> None:
        self._model = model
        self._first = first

    async def invoke(self, *given: Given) -> Given:
        answer = await self._model.invoke(*given)
        self._first.last = self._model
        return answer

    async def stream(self, *given: Given) -> Given:
        answer = await self._model.stream(*given)
        self._first.last = self._model
        return answer


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "later-models-lose-options",
        "A model to fall back on is asked without the options of the run.",
        "ERR-032",
        later_models(_asked_for(_no_options)),
    ),
    wrong(
        "later-models-lose-tools",
        "A model to fall back on is told of no tools.",
        "ERR-032",
        later_models(_asked_for(_no_tools)),
    ),
    wrong(
        "later-models-get-last-message",
        "A model to fall back on is sent the last message alone.",
        "ERR-032",
        later_models(_asked_for(_last_message)),
    ),
    wrong(
        "later-models-backwards",
        "The last model of a policy is the first to fall back on.",
        "ERR-032",
        with_policy(_backwards),
    ),
    wrong(
        "one-later-model",
        "Nobody is asked after the first model to fall back on.",
        "ERR-032",
        with_policy(_first_only),
    ),
    broken(
        "later-models-asked-once",
        "The models to fall back on have no retries of their own.",
        "ERR-032",
        patch("retry.after", _once_each),
    ),
    wrong(
        "later-model-stays",
        "A model that stood in once is asked first from then on.",
        "ERR-032",
        configured(_one_that_answered),
    ),
    wrong(
        "broken-stream-has-no-stand-in",
        "Another model is asked where a call failed, and not where a stream broke.",
        "ERR-032",
        PatchedDoor("broken-stream-has-no-stand-in", _only_unopened),
    ),
    wrong(
        "later-models-counted-as-iterations",
        "Each further model that is asked counts as an iteration.",
        "RUN-016",
        PatchedDoor("later-models-counted-as-iterations", _models_counted),
    ),
    broken(
        "wrapper-errors-retried",
        "The policy is not asked about what a wrapper around the model raised.",
        "ERR-026",
        patch("retry.after", _wrappers_retried),
    ),
    broken(
        "wrapper-errors-final",
        "Where a wrapper around the model raised nobody is asked again.",
        "ERR-026",
        patch("retry.after", _wrappers_final),
    ),
    wrong(
        "backoff-doubled",
        "The wait before a model is asked again is twice as long as the backoff says.",
        "ERR-033",
        with_policy(_waiting(_twice_as_long)),
    ),
    wrong(
        "backoff-asked-and-ignored",
        "The backoff is asked, and nobody waits.",
        "ERR-033",
        with_policy(_waiting(_in_vain)),
    ),
    wrong(
        "backoff-as-the-first-time",
        "The wait before each retry is that of the first one.",
        "ERR-033",
        with_policy(_waiting(_as_the_first_time)),
    ),
    broken(
        "waits-for-another-model",
        "Some time passes before another model is asked.",
        "ERR-033",
        patch("retry.after", _between_models),
    ),
    broken(
        "backoff-counts-through-models",
        "The backoff is asked by the number of the attempt, whichever model it was at.",
        "ERR-030",
        patch("retry.after", _counted_through),
    ),
)
