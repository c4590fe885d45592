"""What is the same in watching any framework's hooks and tools of a subject's own."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import POINT, calling, started
from refengine.testing.world import CALLING, World

Hook: TypeAlias = Callable[..., Any]

STAGES: Final = (
    "before_agent",
    "after_agent",
    "before_model",
    "after_model",
    "on_model_error",
    "before_tool",
    "after_tool",
    "on_tool_error",
)
"""What an agent has callbacks for, and plugins have, too."""


class CountedHooks:
    """Puts hooks into wrappers that count them and say where they raised.

    ``call_of`` finds the id of the call that a hook is given the context of.
    """

    def __init__(self, call_of: Callable[[Sequence[object]], str | None]) -> None:
        self._call_of = call_of
        self.counts: Counter[str] = Counter()
        """How often each ran; those that never did are there."""

    def watched(self, hook: Hook, name: str, stage: str) -> Hook:
        """Return the hook, watched, and otherwise as it is."""
        self.counts[name] += 0

        @functools.wraps(hook)
        def watched(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as the hook
            self.counts[name] += 1
            call_id = self._call_of((*args, *kwargs.values())) or CALLING.get()
            with calling(call_id), marking(stage):
                found = hook(*args, **kwargs)
            if inspect.isawaitable(found):
                return _awaited(found, call_id, stage)
            return found

        return watched


async def _awaited(hook: Awaitable[object], call_id: str | None, stage: str) -> object:
    with calling(call_id), marking(stage):
        return await hook


class OwnExecution:
    """One execution of a subject's own tool; ``with`` it, and tell it the result."""

    def __init__(self, world: World, name: str, arguments: str) -> None:
        self._recorder = world.recorder
        self._name = name
        self._arguments = arguments

    def __enter__(self) -> Callable[[Any], Any]:
        whose = f"the subject's own {self._name}"
        started(self._recorder, self._name, self._arguments, whose)
        return self._done

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, *_: object
    ) -> None:
        if error is not None:
            data = {"error": str(error)}
            self._recorder.add("tool_error", data, CALLING.get())

    def _done(self, result: Any) -> Any:  # noqa: ANN401  # whatever a tool returns
        if not inspect.isawaitable(result):
            self._recorder.add("tool_end", {"result": snapshot(result)}, CALLING.get())
        return result


class marking:  # noqa: N801  # used as a function
    """Have an exception say at which point it was raised, if it says nothing yet."""

    def __init__(self, point: str) -> None:
        self._point = point

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, *_: object
    ) -> None:
        if isinstance(error, Exception) and not hasattr(error, POINT):
            with suppress(AttributeError):  # a class without a place for it
                setattr(error, POINT, self._point)
