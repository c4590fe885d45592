"""The skeleton of a door to an engine: what ``refengine init engine`` writes.

The engine behind the door is small, and keeps nearly all that it declares; it is then
replaced by one's own, and the door is changed until it drives that. Every file is run
by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LOOP: Final = '''"""A small agent engine, in the place of yours.

One loop, and handlers around its parts: hooks by name, in the shape that refengine has.
What a run ends with says whose error it was:

    ConfigurationError    an agent that cannot be built (in door.py)
    ModelError            the model raised
    ToolNotFound          the model called a tool that does not exist
    ToolError             a tool raised
    HookError             a hook raised (named_hooks of door.py notes it)
    HookReturnError       a hook returned something of another type
    NoMessagesLeftError   hooks left no message to go on from

Inside a chain of wrappers an error travels as it is, so that "except X" of a wrapper
further out matches; blame() notes what the run ends with if nobody caught it.
"""

import asyncio
from dataclasses import dataclass, field

from refengine import Message, ToolCallInput, ToolCallResult, ToolError, ToolNotFound
from refengine.errors import HookReturnError, ModelError, NoMessagesLeftError
from refengine.testing.blaming import blame
from refengine.testing.doors import at_call

BEFORE = "before_model_rewrite_history"
AFTER = "after_model_rewrite_history"
WRAP = "wrap_invokable_tool_call"


@dataclass
class Agent:
    """A model, its tools, and handlers; made anew for every run."""

    model: object
    tools: dict
    handlers: list
    instruction: str
    steps: int
    history: list = field(default_factory=list)
    first: Message | None = None
    asked: int = 0
    status: str = "max_iterations"

    async def run(self, given, ctx):
        """Yield every answer of the model and every result of a tool."""
        self.first = Message("system", self.instruction) if self.instruction else None
        self.history = [*([self.first] if self.first else []), *given]
        while self.asked < self.steps:
            self.asked += 1
            here = await self.hooks(BEFORE, ctx, ctx)
            answer = await self.ask(here)
            self.history.append(answer)
            yield answer
            here = await self.hooks(AFTER, here, ctx)
            if not self.history:
                raise NoMessagesLeftError
            calls = self.history[-1].tool_calls
            if not calls:
                self.status = "completed"
                return
            for each in calls:
                if each.name not in self.tools:
                    raise ToolNotFound(each.name, self.tools)
            results, failed = await self.all_of(calls, here, ctx)
            for each in results:
                yield each
            if failed is not None:
                raise failed
            self.history += results

    async def ask(self, ctx):
        """Ask the model for its answer."""
        infos = [each.info for each in self.tools.values()]
        try:
            return await self.model.invoke(ctx, tuple(self.history), infos, {})
        except Exception as error:
            raise ModelError(error) from error

    async def hooks(self, hook, ctx, run):
        """Let every handler change the history, one after the other.

        If one fails, what those before it changed is forgotten.
        """
        left = tuple(self.history)
        for each in self.handlers:
            if hook in each:
                got = await each[hook](ctx, left)
                if not isinstance(got, tuple) or len(got) != 2:
                    wanted = "a pair (ctx, messages)"
                    raise HookReturnError("a handler", hook, got, wanted)
                ctx, left = got[0], tuple(got[1])
        self.history = list(left)
        return at_call(ctx, run, None)

    async def all_of(self, calls, ctx, run):
        """Return the results of the calls that worked, and the first error if any."""
        done = (self.call(at_call(ctx, run, each.id), each, run) for each in calls)
        got = await asyncio.gather(*done, return_exceptions=True)
        failed = [each for each in got if isinstance(each, BaseException)]
        results = [each for each in got if not isinstance(each, BaseException)]
        return results, failed[0] if failed else None

    async def call(self, ctx, call, run):
        """Call a tool inside the handlers that wrap it."""

        async def endpoint(ctx, asked):
            here = at_call(ctx, run, call.id)
            tool = self.tools[call.name]
            try:
                return ToolCallResult(await tool.invoke(here, asked.arguments, {}))
            except Exception as error:
                blame(error, ToolError(call.name, call.id, error))
                raise

        for each in reversed(self.handlers):
            if WRAP in each:
                endpoint = around(each[WRAP], endpoint)
        got = await endpoint(ctx, ToolCallInput(call.name, call.arguments, call.id))
        return Message("tool", got.result, tool_call_id=call.id, name=call.name)


def around(wrap, inner):
    """Return what calls the wrapper, which calls the inner endpoint."""

    async def outer(ctx, asked):
        return await wrap(ctx, asked, inner)

    return outer
'''

ASYNC_DOOR: Final = '''"""The door to an engine: what refengine drives it through."""

import loop

from refengine.errors import ConfigurationError, MaxIterationsError
from refengine.testing import doors
from refengine.testing.blaming import named_hooks
from refengine.testing.telling import to_the_end


class Door:
    """Builds agents of the engine.

    ``capabilities`` are what your engine has a place for; nothing else is asked of it.
    Give it the ``profile`` that "refengine profile infer" finds, if it is not seed-001.
    """

    name = "small"
    capabilities = (
        *("before_model", "after_model", "wrap_tool", "several_handlers", "next_twice"),
        *("parallel_calls", "concurrent_calls", "equal_call_ids", "lone_surrogates"),
        *("context", "run_locals", "arguments_text", "lock_step", "failed_history"),
    )

    async def build(self, config, on_notice):
        """Return an agent; raise a ConfigurationError if there can be none."""
        if config.max_iterations < 1:
            raise MaxIterationsError(config.max_iterations)
        if len(set(map(id, config.handlers))) < len(config.handlers):
            raise ConfigurationError("a handler is given twice: make two of its class")
        handlers = named_hooks(config.handlers)
        tools = {each.info.name: each for each in config.tools_config.tools}

        def start(messages, stream, options):
            given = (handlers, config.instruction, config.max_iterations)
            agent = loop.Agent(config.model, tools, *given)
            told = agent.run(messages, doors.run_context(config.name))

            def left():
                # If something failed: the history as it was before that.
                how = {"iterations": agent.asked, "first": agent.first}
                return doors.ended(agent.history, agent.status, **how)

            return to_the_end(told, left, config.name)

        return doors.door_agent(config.name, start)
'''

SERVICE: Final = '''"""How your service makes its agents, in the place of yours."""

from langchain.agents import create_agent

ALWAYS = []  # the middleware that your agents always have


def create(model, tools, system_prompt=None, middleware=()):
    """Return a compiled graph; refengine gives model, tools and middleware."""
    every = [*ALWAYS, *middleware]
    return create_agent(model, tools, system_prompt=system_prompt, middleware=every)
'''

LANGCHAIN_DOOR: Final = '''"""The door to your agents, which refengine drives."""

from importlib.metadata import version

import service

from compat.engines.langchain import LangChainEngine


def door():
    """Return the engine; its profile is langchain-1, and its hooks are middleware."""
    return LangChainEngine(version("langchain"), name="ours", create=service.create)
'''

TEST: Final = '''"""What the engine keeps of the contract; needs refengine[testing]."""

import subprocess
import sys
from pathlib import Path

DOOR = "{door}"
KEPT = {kept}  # families or clauses; [] is all of the contract


def test_the_engine_keeps_the_contract():
    chosen = [part for each in KEPT for part in ("-k", each)]
    command = [sys.executable, "-m", "refengine", "conform", DOOR, *chosen]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
'''

WORKFLOW: Final = """# Copy it to .github/workflows/ and set the folder.
name: conformance
on: [push, pull_request]
env:
  # The name is on no registry: the path of a wheel, or of a checkout.
  REFENGINE: ./refengine-0.1.0-py3-none-any.whl
jobs:
  conform:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install {requirement}
      - run: refengine conform {door} -k ORD --junit conformance.xml
        working-directory: conformance
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: conformance
          path: conformance/conformance.xml
"""


def _files(
    sources: Mapping[str, str], door: str, requirement: str
) -> Mapping[str, str]:
    kept = '["ORD"]'
    return MappingProxyType(
        {
            **sources,
            "test_conformance.py": TEST.format(door=door, kept=kept),
            "conformance.yml": WORKFLOW.format(door=door, requirement=requirement),
        }
    )


DOORS: Final[Mapping[str, str]] = MappingProxyType(
    {"async": "door.py:Door", "langchain": "door.py:door"}
)
"""What names the engine of each skeleton, from its folder: one whose runs are
asynchronous and whose hooks take what ours take, or agents that ``create_agent`` of
LangChain makes."""

ENGINES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "async": _files(
            {"loop.py": LOOP, "door.py": ASYNC_DOOR},
            DOORS["async"],
            '"${REFENGINE}[testing]"',
        ),
        "langchain": _files(
            {"service.py": SERVICE, "door.py": LANGCHAIN_DOOR},
            DOORS["langchain"],
            '"${REFENGINE}[testing,langchain]"',
        ),
    }
)
"""The files of each door to an engine by name."""
