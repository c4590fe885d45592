"""The door to an engine behind a driver: one for all languages.

    engine = RemoteEngine("mine", lambda: ["/path/to/driver"])

What the world has, model, tools, hooks and contexts, stays here and is called back. So
neither the driver nor this door reports anything about the engine: what a trace says
was seen by the world itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from compat.drivers.calls import Calls
from compat.drivers.connection import PATIENCE, Command, DriverProcess, KeptDriver
from compat.drivers.flow.engine import RemoteFlowEngine
from compat.drivers.loops import RemoteStreamLoop
from compat.drivers.running import RemoteRun
from compat.drivers.sessions import RemoteCallbacks
from compat.drivers.state import AgentState
from compat.engines.capabilities import refuse_undeclared
from refengine.agent import ChatModelAgentConfig
from refengine.errors import RefengineError, error
from refengine.hooks import hooks_of
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.testing.doors import EngineAgent, Yielded, door_agent
from refengine.tools import Options, ToolMiddleware

FIELDS: Final = ("before_chat_model", "after_chat_model")
"""The callbacks of a struct middleware around the model."""


class RemoteEngine:
    """An engine in another process, which says itself what it is.

    The driver is started for the first question about it and for the first agent; in
    each process that builds agents there is one. One that is over is started anew.
    """

    def __init__(
        self, name: str, command: Command | KeptDriver, *, patience: float = PATIENCE
    ) -> None:
        self.name = name
        kept = command if isinstance(command, KeptDriver) else None
        self._driver = kept or KeptDriver(cast("Command", command), patience)
        self.about = about = self._driver.about
        self.version: str = about["version"]
        self.profile: str = about["profile"]
        self.capabilities = frozenset[str](about["capabilities"])

    def processor_seconds(self) -> float:
        """Return the processor time that its driver has used, in this process."""
        return self._driver.connected().processor_seconds()

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; raises CapabilityError, or what the driver raises."""
        del on_notice  # what an engine would say is told by nobody else
        refuse_undeclared(self.name, self.capabilities, config)
        agent = RemoteAgent(self._driver.connected(), config)
        await agent.build()
        return agent.door()


class RemoteAgent:
    """One agent of a driver: what it is told, and what it calls."""

    def __init__(self, driver: DriverProcess, config: ChatModelAgentConfig) -> None:
        self._driver = driver
        self._config = config
        self._state = AgentState(driver, config)
        self._calls = Calls(self._state)

    def door(self) -> EngineAgent:
        """Return what the harness runs; when it is gone, the driver may forget."""
        made = door_agent(self._config.name, self._start)
        weakref.finalize(made, self._driver.remove, self._state.number)
        return made

    async def build(self) -> None:
        """Build it in the driver."""
        await self.ask("build", config=self._described())

    async def ask(self, method: str, **params: object) -> Any:  # noqa: ANN401  # any JSON
        """Return what the driver says of this agent, while no run of it goes on."""
        with self._state.attached():
            return await self._state.call(method, **params)

    def _start(
        self, messages: Sequence[Message], stream: bool, options: Options
    ) -> Yielded:
        del options  # declined: a run has none
        run = self._state.new_run(messages)
        return RemoteRun(self._state, run, streams=stream).play()

    # What a driver is told

    def _described(self) -> Mapping[str, object]:
        config, held = self._config, self._state.held
        tools = config.tools_config
        wraps = [
            self._wraps(f"tool_call_middlewares[{at}]", at, "tool_call_middlewares", w)
            for at, w in enumerate(tools.tool_call_middlewares)
        ]
        return {
            "name": config.name,
            "description": config.description,
            "instruction": config.instruction,
            "tools": list(map(held.tool, tools.tools)),
            "return_directly": dict(tools.return_directly),
            "tool_call_middlewares": wraps,
            "structs": [self._struct(at) for at in range(len(config.middlewares))],
            "handlers": self._calls.hook_names,
            "handler_names": [hooks_of(each, set())[0] for each in config.handlers],
            "unknown_tools_handler": tools.unknown_tools_handler is not None,
            "sequential": tools.sequential,
            "max_iterations": config.max_iterations,
        }

    def _struct(self, at: int) -> Mapping[str, object]:
        struct = self._config.middlewares[at]
        wraps = struct.wrap_tool_call
        return {
            "instruction": struct.additional_instruction,
            "tools": list(map(self._state.held.tool, struct.additional_tools)),
            "fields": [each for each in FIELDS if getattr(struct, each) is not None],
            "wrap_tool_call": self._wraps(
                f"middleware[{at}]", at, "wrap_tool_call", wraps
            ),
        }

    def _wraps(
        self, name: str, at: int, hook: str, wraps: ToolMiddleware
    ) -> Mapping[str, int]:
        kinds = {"invokable": wraps.invokable, "streamable": wraps.streamable}
        return {
            kind: self._calls.factory(make, kind, name, at, hook)
            for kind, make in kinds.items()
            if make is not None
        }


REACT: Final = "react"
SPOKEN: Final = (REACT, "stream-loop", "flow", "callbacks")
"""The dialects that drivers may speak."""


@error
class DriverDialectError(RefengineError):
    """A driver speaks a dialect that there is no door to."""

    dialect: str
    says = (
        "the driver says that its dialect is {dialect!r}: there are only"
        f" {', '.join(SPOKEN)}"
    )


def opened(name: str, driver: KeptDriver, profile: str | None = None) -> Any:  # noqa: ANN401  # each dialect has a door of its own
    """Return the door to a driver, under a profile of its dialect if one is asked for.

    Raises DriverDialectError, or UnknownProfileError for a dialect's profile.
    """
    match driver.about.get("dialect", REACT):
        case "react":
            return RemoteEngine(name, driver)
        case "stream-loop":
            return RemoteStreamLoop(name, driver, profile)
        case "flow":
            return RemoteFlowEngine(name, driver, profile)
        case "callbacks":
            return RemoteCallbacks(name, driver, profile)
        case other:
            raise DriverDialectError(other)
