"""The user's own handlers, at work in the run that everything is measured in.

A subject is what ``refengine migrate check`` takes: a function ``subject(world)`` that
returns a list of struct middlewares and handlers, or the configuration of an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.byhand import HELLO
from benchmarks.engine_runs import runs
from benchmarks.measure import MeasuredSide
from benchmarks.parts import ANSWERS, ASKS, INSTRUCTION, SharedParts
from benchmarks.specs import Setting, SideSpec
from refengine import AgentMiddleware, ChatModelAgentConfig, ToolsConfig, build_agent
from refengine.errors import RefengineError
from refengine.testing.json_values import is_list
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.subjects import is_graph
from refengine.testing.trace import ObservationKind
from refengine.testing.world import World

SubjectFunction = Callable[[World], object]
AGENT: Final = AgentSpec(name="agent")
SCENARIO: Final = Scenario(agent=AGENT)
NO_HOOK: Final = "subject"
"""Stands in a setting for the hooks of the user's own extensions."""


class NotMeasurableError(RefengineError):
    """A subject returned something whose cost cannot be measured here."""

    def __init__(self, text: str, got: object, why: str) -> None:
        super().__init__(
            f"{text}: subject(world) returned {type(got).__name__}: {why}; return a"
            " list of AgentMiddleware and handlers, or world.config(...)"
        )


class QuietRecorder(Recorder):
    """Forgets what it is given: a benchmark would fill the memory with it."""

    def add(
        self,
        kind: ObservationKind,
        data: Mapping[str, object],
        call_id: str | None = None,
    ) -> None:
        """Forget it."""


class QuietWorld(World):
    """The world of a run that is measured: its model is canned, nothing is observed."""

    def __init__(self, kit: SharedParts, setting: Setting) -> None:
        super().__init__(AGENT, SCENARIO, QuietRecorder())
        model = kit.streamed_model if setting.stream else kit.model
        self.canned = model(ASKS, ANSWERS)
        self.tools = tuple(kit.tool(name) for name in setting.tool_names)
        self.instruction = INSTRUCTION

    def effect(self, name: str, data: object = None) -> None:
        """Put nothing down: what it costs is the harness' part, not the handler's."""


@dataclass(frozen=True, slots=True)
class SubjectExtensions:
    """What a subject returned, apart: its struct middlewares and its handlers."""

    config: ChatModelAgentConfig
    structs: tuple[AgentMiddleware, ...]
    handlers: tuple[object, ...]

    @property
    def names(self) -> list[str]:
        """What each is called in reports, structs first as they act first."""
        structs = [f"middlewares[{at}]" for at in range(len(self.structs))]
        named = [str(getattr(each, "name", "?")) for each in self.handlers]
        return [*structs, *(f"handlers[{at}] {name}" for at, name in enumerate(named))]

    def without(self, at: int | None) -> SubjectExtensions:
        """Return them without the one at a place of ``names``."""
        if at is None:
            return self
        structs, handlers = list(self.structs), list(self.handlers)
        if at < len(structs):
            del structs[at]
        else:
            del handlers[at - len(structs)]
        return replace(self, structs=tuple(structs), handlers=tuple(handlers))

    def built(self) -> ChatModelAgentConfig:
        """Return the configuration of the agent."""
        return replace(self.config, middlewares=self.structs, handlers=self.handlers)


@dataclass(frozen=True, slots=True)
class Subjects:
    """The functions that make the user's extensions, by what they are compared as.

    If one of them ``waits``, or has other threads work, all are timed by the wall.
    """

    functions: Mapping[str, tuple[str, SubjectFunction]]
    waits: bool = False

    async def side(self, spec: SideSpec, kit: SharedParts) -> MeasuredSide:
        """Return the user's extensions at work; raises NotMeasurableError."""
        found = self.extensions(spec, kit).without(spec.without)
        agent = await build_agent(found.built())
        messages = (HELLO,) * spec.setting.history
        work = runs(agent, messages, stream=spec.setting.stream)
        return MeasuredSide(work, _base_calls(spec.setting))

    def extensions(self, spec: SideSpec, kit: SharedParts) -> SubjectExtensions:
        """Return ``copies`` of what the subject returns; raises NotMeasurableError."""
        text, function = self.functions[spec.maker]
        world = QuietWorld(kit, spec.setting)
        parts = [_taken(text, function(world), world) for _ in range(spec.copies)]
        return SubjectExtensions(
            parts[0].config,
            tuple(each for part in parts for each in part.structs),
            tuple(each for part in parts for each in part.handlers),
        )


def _taken(text: str, got: object, world: QuietWorld) -> SubjectExtensions:
    if is_graph(got):
        why = "a graph runs in its framework; see the peers of refengine bench run"
        raise NotMeasurableError(text, got, why)
    if isinstance(got, ChatModelAgentConfig):
        if got.model is not world.model:
            why = "its model is not world.model, so the run is another one"
            raise NotMeasurableError(text, got, why)
        config, given = got, (*got.middlewares, *got.handlers)
        config = replace(config, model=world.canned)
    elif is_list(got):
        config, given = _config(world), tuple(got)
    else:
        raise NotMeasurableError(text, got, "that is not a list or a configuration")
    structs = tuple(each for each in given if isinstance(each, AgentMiddleware))
    handlers = tuple(each for each in given if not isinstance(each, AgentMiddleware))
    if not given:
        raise NotMeasurableError(text, got, "there is nothing in it to measure")
    return SubjectExtensions(config, structs, handlers)


def _config(world: QuietWorld) -> ChatModelAgentConfig:
    return ChatModelAgentConfig(
        "agent",
        "what is measured",
        world.canned,
        INSTRUCTION,
        ToolsConfig(list(world.tools)),
    )


def _base_calls(setting: Setting) -> Mapping[str, int]:
    model = "StreamedModel.stream" if setting.stream else "CannedModel.invoke"
    return {model: 2, "EchoTool.invoke": 1}
