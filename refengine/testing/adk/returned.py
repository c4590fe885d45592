"""What a subject returned of ADK: a runner, ready to be played, or a clear refusal."""

from __future__ import annotations

import warnings
from typing import Final, cast

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.apps import App
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner

from refengine.testing.adk.bridge import AdkBridge
from refengine.testing.adk.model import WorldLlm
from refengine.testing.json_values import is_list
from refengine.testing.subjects import SubjectError
from refengine.testing.world import World

APP: Final = "world"
"""The name of the app where a subject gives none."""
INSTEAD: Final = (
    "return an agent, (root_agent, plugins), an App or a Runner of google.adk, built"
    " from world.as_adk()"
)


def runner_of(got: object, bridge: AdkBridge) -> Runner:
    """Return a runner of what a subject returned; raises SubjectError."""
    if isinstance(got, Runner):
        return _checked(got, got)
    kept, files = bridge.session_service, bridge.artifact_service
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it takes plugins, if as of old
        if isinstance(got, App):
            runner = Runner(app=got, session_service=kept, artifact_service=files)
            return _checked(got, runner)
        root, plugins = _parts(got)
        runner = Runner(
            app_name=APP,
            agent=root,
            plugins=plugins,
            session_service=kept,
            artifact_service=files,
        )
    return _checked(got, runner)


def _parts(got: object) -> tuple[BaseAgent, list[BasePlugin]]:
    if isinstance(got, BaseAgent):
        return got, []
    parts = _pair(got)
    if len(parts) != 2:
        raise SubjectError(got, "that is nothing of ADK that can be run", INSTEAD)
    root, plugins = parts
    if not isinstance(root, BaseAgent):
        why = f"its first part is {_named(root)}, not an agent"
        raise SubjectError(parts, why, INSTEAD)
    if not is_list(plugins):
        why = f"its second part is {_named(plugins)}, not a list of plugins"
        raise SubjectError(parts, why, INSTEAD)
    for at, each in enumerate(plugins):
        if not isinstance(each, BasePlugin):
            why = f"plugins[{at}] is {_named(each)}, not a plugin"
            raise SubjectError(parts, why, INSTEAD)
    return root, [*plugins]


def _pair(got: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", got) if isinstance(got, tuple) else ()


def _named(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a {type(value).__name__}"


def _checked(got: object, runner: Runner) -> Runner:
    if not isinstance(runner.agent, BaseAgent):
        why = f"its root is {_named(runner.agent)}, not an agent"
        raise SubjectError(got, why, INSTEAD)
    return runner


def check_models(got: object, agents: list[BaseAgent], world: World) -> None:
    """Raise SubjectError for an agent that asks another model than the world's."""
    for each in agents:
        if isinstance(each, LlmAgent):
            _check_model(got, each, world)


def _check_model(got: object, agent: LlmAgent, world: World) -> None:
    model: object = agent.model
    parent = agent.parent_agent
    if model == "" and isinstance(parent, BaseAgent):
        return  # it has its parent's
    if not isinstance(model, WorldLlm):
        asked = repr(model) if model else "the framework's default"
        why = f"agent {agent.name!r} asks {asked}, which nobody sees"
        raise SubjectError(got, why, MODEL_INSTEAD)
    if model.world is not world:
        why = f"agent {agent.name!r} asks the model of another world"
        raise SubjectError(got, why, "build the agents inside the subject's function")


MODEL_INSTEAD: Final = "give it world.as_adk().model"
