"""What is the same in watching any framework's hooks and tools of a subject's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import POINT, started
from refengine.testing.world import CALLING, World

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
