"""Models that fail as they are told, and a consumer that reads what they stream."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from refengine import MessageChunk, ModelRetry, RunResult, StreamReader
from refengine.messages import chunk_of
from refengine.testing.clock import run
from tests.support import USER, build, outcome_of

BOTH_MODES = pytest.mark.parametrize("stream", [False, True], ids=["invoke", "stream"])


TWICE = ModelRetry(2, backoff=lambda _: 0)


class Busy(Exception):
    """What the model or a wrapper raises here."""


class Fatal(Exception):
    """What nobody should ask again after."""


@dataclass(frozen=True)
class Broken:
    """An answer that breaks off after its first chunks; invoked it only raises."""

    error: Exception = field(default_factory=lambda: Busy("broken off"))
    chunks: tuple[str, ...] = ("par", "tial")


class Shaky:
    """Does what its script says, whatever it is asked; keeps who was asked when.

    A step is an answer, an error, or an answer that breaks off. Answers are streamed
    letter by letter.
    """

    def __init__(self, *steps, name="first", asked=None, script=None):
        self.asked = [] if asked is None else asked
        self.requests = []
        self.closed = 0
        self._script = list(steps) if script is None else script
        self._name = name

    async def invoke(self, ctx, messages, tools, options):
        step = self._next(messages)
        if isinstance(step, Broken):
            raise step.error
        return step

    async def stream(self, ctx, messages, tools, options):
        return StreamReader(self._chunks(self._next(messages)))

    @property
    def times(self):
        return [time for _, time in self.asked]

    def _next(self, messages):
        self.asked.append((self._name, now()))
        self.requests.append(tuple(messages))
        step = self._script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step

    async def _chunks(self, step):
        try:
            if isinstance(step, Broken):
                for text in step.chunks:
                    yield MessageChunk(text)
                raise step.error
            for letter in step.content:
                yield MessageChunk(letter)
            if step.tool_calls:
                yield chunk_of(replace(step, content=""))
        finally:
            self.closed += 1


def now():
    """Return the virtual time in seconds."""
    return round(asyncio.get_running_loop().time(), 6)


def only(model, method):
    """Return the model with that one of its methods."""
    return type("Only", (), {method: staticmethod(getattr(model, method))})()


class Wrapper:
    """A handler around the model that does with ``next`` what it is told."""

    name = "wrapper"

    def __init__(self, does):
        self._does = does
        self.entered = 0

    async def wrap_model_call(self, ctx, request, next):
        self.entered += 1
        return await self._does(ctx, request, next)


class Counting:
    """Takes part in every hook of an iteration and counts how often."""

    name = "counting"

    def __init__(self):
        self.counts = {"before": 0, "after": 0, "around": 0, "end": 0}

    def before_model_rewrite_history(self, ctx, messages):
        self.counts["before"] += 1
        return ctx, messages

    def after_model_rewrite_history(self, ctx, messages):
        self.counts["after"] += 1
        return ctx, messages

    async def wrap_model_call(self, ctx, request, next):
        self.counts["around"] += 1
        return await next(ctx, request)

    def after_agent(self, ctx, messages):
        self.counts["end"] += 1
        return ctx


@dataclass
class Seen:
    """What came of a run, and what its consumer read of each model event's stream."""

    result: RunResult
    error: Any
    streams: list[tuple[str, Any]]
    ended: float

    @property
    def told(self):
        """How each stream ended, by the class of its error."""
        return [error and type(error).__name__ for _, error in self.streams]


async def read_stream(event):
    """Return the text of an event's stream and the error it broke with."""
    text = ""
    try:
        async for chunk in event.stream:
            text += chunk.content
    except Exception as error:  # noqa: BLE001  # it is what the test asks about
        return text, error
    return text, None


def shows(event):
    """Tell whether it is an answer of the model that can be read as it comes."""
    return event.kind == "model" and event.stream is not None


async def watch(agent, *, stream):
    """Run the agent to its end, as a consumer that reads every stream."""
    async with agent.run([USER], stream=stream) as started:
        streams = [await read_stream(each) async for each in started if shows(each)]
    return Seen(outcome_of(started), started.error, streams, now())


def play(*handlers, stream=False, **made_of):
    """Build an agent of these handlers and watch one run of it, on virtual time."""

    async def play_it():
        return await watch(await build(*handlers, **made_of), stream=stream)

    return run(play_it())
