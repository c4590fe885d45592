"""A scripted model, a runner over it, and hooks that say when they are called."""

import itertools
from dataclasses import fields
from typing import Any

from compat.dialects.flow import (
    Content,
    FunctionCall,
    InMemoryArtifactService,
    InMemorySessionService,
    LlmResponse,
    Part,
    Plugin,
    Runner,
    function_tool,
    text_content,
)


class ScriptedModel:
    """Answers with the next entry of its script; an exception in it is raised.

    An entry is a text, a content, a response, an exception, or a list of them: what a
    stream brings. Requests are kept as they were when it was asked.
    """

    def __init__(self, *script, name="gemini-2.5-flash"):
        self.name = name
        self.script = list(script)
        self.requests = []

    async def generate(self, request, *, stream):
        self.requests.append(
            (request.config, tuple(request.contents), tuple(request.tools))
        )
        entry = self.script.pop(0)
        for each in entry if isinstance(entry, list) else [entry]:
            if isinstance(each, Exception):
                raise each
            yield as_response(each)

    @property
    def instructions(self):
        return [config.system_instruction for config, _, _ in self.requests]

    @property
    def contents(self):
        return [contents for _, contents, _ in self.requests]


def model_of(agent) -> Any:
    """Return the scripted model of an agent."""
    return agent.model


def as_response(given):
    if isinstance(given, LlmResponse):
        return given
    if isinstance(given, str):
        given = text_content("model", given)
    return LlmResponse(content=given)


def calls(*named, id_from=1):
    """Return a content with calls, given as names or as (name, arguments)."""
    listed = [each if isinstance(each, tuple) else (each, {}) for each in named]
    return Content(
        "model",
        tuple(
            Part(call=FunctionCall(name, args, f"c{number}"))
            for number, (name, args) in enumerate(listed, id_from)
        ),
    )


def tool(name, **options):
    """Return a tool that gives its name."""
    return function_tool(lambda: {"v": name}, name=name, **options)


def runner_of(agent, *plugins, profile="adk-go-0.4", **options):
    """Return a runner with numbered ids and a clock that ticks."""
    numbers, ticks = itertools.count(1), itertools.count(1)
    given = {
        "session_service": InMemorySessionService(),
        "artifact_service": InMemoryArtifactService(),
        "new_id": lambda: str(next(numbers)),
        "clock": lambda: float(next(ticks)),
    }
    return Runner(agent, plugins=plugins, profile=profile, **(given | options))


async def run(runner, message="hi", session="s", state=None, *, stream=False):
    """Return the events of one message; the session is made if it is not there."""
    if await runner.session_service.get(runner.app, "u", session) is None:
        await runner.session_service.create(runner.app, "u", session, state)
    return [each async for each in runner.run("u", session, message, stream=stream)]


async def stored(runner, session="s"):
    return await runner.session_service.get(runner.app, "u", session)


def short(event):
    """Return who says what, as one text."""
    parts = () if event.content is None else event.content.parts
    return f"{event.author}: {' '.join(map(_short_part, parts))}".strip()


def _short_part(part):
    if part.call is not None:
        return f"{part.call.name}()"
    if part.response is not None:
        return f"{part.response.name} -> {part.response.response}"
    return part.text


def saying(log, name):
    """Return a hook that notes its name and abstains."""
    return lambda *_: log.append(name)


def saying_plugin(log, name="p"):
    """Return a plugin with every hook, each of which notes itself and abstains."""
    hooks = [each.name for each in fields(Plugin) if each.name != "name"]
    return Plugin(name=name, **{each: saying(log, f"{name}.{each}") for each in hooks})


CALLBACKS = (
    "before_agent",
    "after_agent",
    "before_model",
    "after_model",
    "on_model_error",
    "before_tool",
    "after_tool",
    "on_tool_error",
)


def saying_callbacks(log, name="a"):
    """Return every callback of an agent, each of which notes itself and abstains."""
    return {each: saying(log, f"{name}.{each}") for each in CALLBACKS}
