"""The door to a stream loop behind a driver.

    door = RemoteStreamLoop("mine", KeptDriver(lambda: ["/path/to/driver"]))

Each call is an agent of its own: built, run once, and freed.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from compat.dialects.stream_loop import LoopProfile, ToolOutput, loop_profile
from compat.dialects.stream_loop.errors import (
    CallbackFailedWarning,
    EmptyPromptWarning,
)
from compat.dialects.stream_loop.parts import Part
from compat.drivers.agents import DialectAgent, call_read
from compat.drivers.connection import DriverProcess, KeptDriver, Params
from compat.drivers.node_building import own_driver
from compat.drivers.values import Wire, message_read, message_told, plain
from compat.engines.stream_loop.doors import LoopCall
from refengine.messages import Message

CALLBACKS: Final = 1
"""The number of the only set of callbacks of a call."""
WARNINGS: Final[Mapping[str, type[Warning]]] = {
    "empty_prompt": EmptyPromptWarning,
    "callback_failed": CallbackFailedWarning,
}
LEVELS: Final[Mapping[str, int]] = {"info": logging.INFO, "warning": logging.WARNING}


@dataclass(frozen=True, slots=True)
class RemoteLoopResult:
    """How a call ended, as a driver says: see ``LoopResult``."""

    text: str
    status: str
    rounds: int
    parts: Sequence[Part]
    history: Sequence[Message]


@dataclass(frozen=True, slots=True)
class RemoteToolResult:
    """What became of a call of a tool, as a driver says: see ``ToolResult``."""

    call_id: str
    name: str
    text: str
    error: BaseException | None


class RemoteStreamLoop:
    """A stream loop in another process, which says itself what it is.

    It is played under ``profile`` if that is given, and else under its own. Raises
    UnknownProfileError.
    """

    def __init__(
        self, name: str, driver: KeptDriver, profile: str | None = None
    ) -> None:
        self.name = name
        self._driver = driver
        self.about = driver.about
        self.version: str = driver.about["version"]
        self.capabilities = frozenset[str](driver.about["capabilities"])
        self.profile: LoopProfile = loop_profile(profile or driver.about["profile"])

    async def process(self, call: LoopCall) -> RemoteLoopResult | str:
        """Process a call; raises what comes out of it."""
        driver = self._driver.connected()
        played = RemoteLoopCall(driver, call)
        try:
            with played.attached():
                return await played.play()
        finally:
            driver.remove(played.number)


class RemoteLoopCall(DialectAgent):
    """One call of a driver's loop: what it is told, and what it calls."""

    def __init__(self, driver: DriverProcess, call: LoopCall) -> None:
        super().__init__(driver, call.model)
        self._call = call
        self._warned: list[tuple[str, type[Warning]]] = []
        self.hears(CALLBACKS, self._told)
        self.serves(new_id=self._new_id)
        self.takes(log=self._logged, warning=self._warns)

    async def play(self) -> RemoteLoopResult | str:
        """Build it, run it, and return its result."""
        try:
            await self.call("build", dialect="stream-loop", config=self._config())
            return self._result(await self.ran(**self._input()))
        finally:
            for text, category in self._warned:
                warnings.warn(category(text), stacklevel=2)

    def _config(self) -> Mapping[str, object]:
        call = self._call
        limits = {
            each.name: getattr(call.limits, each.name) for each in fields(call.limits)
        }
        return {
            "form": call.form,
            "instruction": call.instruction,
            "tools": list(map(self.held.tool, call.tools)),
            "limits": {name: each for name, each in limits.items() if each is not None},
            "next_prompt": call.next_prompt,
        }

    def _input(self) -> Mapping[str, object]:
        call, most = self._call, self._call.max_iterations
        heard = [
            x.name for x in fields(call.callbacks) if getattr(call.callbacks, x.name)
        ]
        return {
            "input": call.input,
            "max_iterations": "NaN" if most is not None and math.isnan(most) else most,
            "history": list(map(message_told, call.history)),
            "callbacks": {"callbacks": CALLBACKS, "names": heard},
        }

    # What a driver calls

    async def _new_id(self, _: Params) -> object:
        return {"id": self._call.new_id()}

    def _told(self, name: str, data: Sequence[Any]) -> object:
        callback = getattr(self._call.callbacks, name)
        return callback(*self._facts(name, data))

    def _facts(self, name: str, data: Sequence[Any]) -> Iterator[object]:
        """Yield what a callback is called with."""
        reads: Mapping[str, Callable[[Any], object]] = {
            "on_error": self.error_read,
            "on_tool_call": call_read,
            "on_tool_result": self._tool_result,
            "on_part_event": _part,
            "on_parts_change": lambda told: tuple(map(_part, told)),
            "on_end": self._result,
        }
        read = reads.get(name)
        yield data[0] if read is None else read(data[0])
        yield from data[1:]

    def _tool_result(self, told: Wire) -> RemoteToolResult:
        error = told.get("error")
        return RemoteToolResult(
            told["call_id"],
            told["name"],
            told["text"],
            None if error is None else self.error_read(error),
        )

    def _result(self, told: Wire) -> RemoteLoopResult | str:
        if "status" not in told:
            return str(told["text"])
        return RemoteLoopResult(
            told["text"],
            told["status"],
            told["rounds"],
            tuple(map(_part, told["parts"])),
            tuple(map(message_read, told["history"])),
        )

    def tool_told(self, given: object) -> Mapping[str, object]:
        """Return what a tool gave: a text, an output, or what is not a result."""
        if not isinstance(given, ToolOutput):
            return {"result": given}
        follow_up = given.requires_follow_up
        output = {"result": plain(given.result), "requires_follow_up": follow_up}
        return {"output": output}

    def _warns(self, params: Params) -> None:
        self._warned.append((params["text"], WARNINGS[params["kind"]]))

    def _logged(self, params: Params) -> None:
        told: Wire = params["fields"]
        if "seconds" in told:  # a language may have one kind of number
            told = {**told, "seconds": float(told["seconds"])}
        said = " ".join(f"{key}={told[key]}" for key in told if key != "event")
        extra = {"loop": dict(told)}
        level = LEVELS[params["level"]]
        self._call.logger.log(level, "%s %s", told["event"], said, extra=extra)


def _part(told: Wire) -> Part:
    return Part(**told)


def typescript_loop(profile: str | None = None) -> RemoteStreamLoop:
    """Return the loop in TypeScript, built once; raises MissingToolchainError."""
    return RemoteStreamLoop("typescript-loop", own_driver("loop", "driver"), profile)


def typescript_loop_sketch(profile: str | None = None) -> RemoteStreamLoop:
    """Return the loop as its record sketches it; raises MissingToolchainError."""
    driver = own_driver("loop", "sketch_driver")
    return RemoteStreamLoop("typescript-loop-sketch", driver, profile)
