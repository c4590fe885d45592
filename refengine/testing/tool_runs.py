"""The world's tools and its errors where it is another framework that runs them.

Each face of a world in a framework is thin, and what a tool does is the same in all.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Literal

from refengine.messages import Json
from refengine.testing.notation import decoded
from refengine.testing.ops import ToolSpec
from refengine.testing.recorder import Recorder, snapshot
from refengine.testing.scripted import scripted_error
from refengine.testing.world import CALLING, World

POINT: Final = "__refengine_point__"
"""The attribute that says where an error was raised."""


def error_at(name: str, point: Literal["model", "tool"]) -> Exception:
    """Return the error that a scenario asked for, with where it is raised."""
    error = scripted_error(name)
    setattr(error, POINT, point)
    return error


def point_of_scripted(error: BaseException) -> str | None:
    """Return where an error was raised, also behind what wraps it."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        found: object = getattr(inner, POINT, None)
        if isinstance(found, str):
            return found
        seen.add(id(inner))
        inner = inner.__cause__ or inner.__context__
    return None


def written(arguments: object) -> str:
    """Return the arguments of a call as text, since observations have them so."""
    return json.dumps(snapshot(arguments), ensure_ascii=False)


def given_by_name(arguments: object) -> str:
    """Return what a tool is run with as text, in the order of its names.

    A framework that gives arguments by name gives them in no order: who adds one in
    front does what he does who adds it at the end.
    """
    return json.dumps(snapshot(arguments), ensure_ascii=False, sort_keys=True)


def started(recorder: Recorder, name: str, arguments: str, implementation: str) -> None:
    """Put down that a tool begins, for the call that is being made."""
    data: dict[str, Json] = {
        "name": name,
        "arguments": arguments,
        "implementation": implementation,
        "mode": "invoke",
        "options": {},
        "ctx": "-",
    }
    recorder.add("tool_start", data, CALLING.get())


@contextmanager
def calling(call_id: str | None) -> Generator[None, None, None]:
    """Have what is observed inside belong to this call."""
    token = CALLING.set(call_id)
    try:
        yield
    finally:
        CALLING.reset(token)


class ToolRuns:
    """Runs of one tool, as its spec says, put down for the call that is being made.

    A result comes in one piece: frameworks do not stream what a tool returns.
    """

    def __init__(self, spec: ToolSpec, world: World) -> None:
        self._spec = spec
        self._world = world

    @property
    def seconds(self) -> float:
        """How long a run takes."""
        return self._spec.delay_ms / 1000

    def begin(self, arguments: str) -> None:
        """Put down that a run begins."""
        spec = self._spec
        started(self._world.recorder, spec.name, arguments, spec.implementation)

    def end(self, arguments: str) -> str:
        """Put down how a run ends, and return its result; raises what is scripted."""
        call_id, recorder = CALLING.get(), self._world.recorder
        failure = self._failure()
        if failure is not None:
            recorder.add("tool_error", {"error": failure}, call_id)
            raise error_at(failure, "tool")
        recorded = self._recorded(call_id or "")
        made = "".join(map(decoded, self._spec.chunks or ())) or self._spec.result
        result = decoded(made).replace("<args>", arguments)
        result = result if recorded is None else decoded(recorded)
        recorder.add("tool_end", {"result": result}, call_id)
        return result

    def _recorded(self, call_id: str) -> str | None:
        """Return what was recorded for this call, the last of it again and again."""
        recorded = self._spec.by_call.get(call_id)
        if recorded is None:
            return None
        times = self._world.count(f"{self._spec.name} {call_id}")
        return recorded[min(times, len(recorded)) - 1]

    def _failure(self) -> str | None:
        times = self._world.count(self._spec.name)
        if self._spec.at_most_once and times > 1:
            return f"{self._spec.name} was executed twice"
        for op in self._spec.body:
            if op.op == "error" and op.on_call in {None, times}:
                return op.text
        return self._spec.error or self._spec.stream_error
