"""Skeletons: the files that ``refengine init`` writes, which run at once.

Both sides of a migration are small and real, so the first check says "holds"; what is
in them is then replaced by what is to be migrated. So is the engine behind a door, and
the door is changed until it drives that. Every file is run by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OLD: Final = '''"""The old side: put the struct middleware that you have here."""

from refengine import AgentMiddleware

LIMIT = 10


def subject(world):
    """Return what an agent is extended with; called once for every session.

    Take time, ids and random numbers from world.now(), world.new_id() and world.random,
    and tell what leaves the agent by world.effect(name, data).
    """
    return [AgentMiddleware(additional_instruction="Be brief.", before_chat_model=trim)]


def trim(ctx, state):
    """Keep the last messages."""
    state.messages = state.messages[-LIMIT:]
'''

NEW: Final = '''"""The new side: put the port to handlers here."""

LIMIT = 10


def subject(world):
    """Return what an agent is extended with; called once for every session."""
    return [Trim()]


class Trim:
    """Asks for short answers and keeps the last messages."""

    name = "trim"

    def before_agent(self, ctx, config):
        """Add a line to the instruction, as the struct did."""
        config.instruction += "\\nBe brief."
        return ctx

    def before_model_rewrite_history(self, ctx, messages):
        """Keep the last messages."""
        return ctx, messages[-LIMIT:]
'''

SETTINGS: Final = """about = "What this piece does."
old = "old.py"
# same-answer, same-state, same-effects, same-up-to-volatile or identical
require = "same-effects"

[cases."new.py"]
holds = "same-effects"

# A field that differs from run to run by its nature:
# [[volatile]]
# channel = "effects"
# path = "[*].data.at"
# reason = "a time stamp of the vendor"

# A difference that is meant. "world" is the smallest world that needs it, as
# "refengine migrate check old.py new.py --reproducer DIR" writes it (world.json).
# [[cases."new.py".allow]]
# channel = "requests"
# path = "[*].messages[0].content"
# reason = "one newline less"
# world = "worlds/newline.json"
"""

MIGRATION_TEST: Final = '''"""The same check in pytest; needs refengine[testing]."""

from pathlib import Path

HERE = Path(__file__).parent


def test_port_does_what_the_old_side_did(assert_migrates):
    assert_migrates(HERE / "old.py", HERE / "new.py")
'''

MIGRATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "old.py": OLD,
        "new.py": NEW,
        "migration.toml": SETTINGS,
        "test_migration.py": MIGRATION_TEST,
    }
)
"""The files of a migration by name."""

LOOP: Final = '''"""A small agent engine, in the place of yours.

One loop, and handlers around its parts: hooks by name, in the shape that refengine has.
"""

import asyncio
from dataclasses import dataclass, field

from refengine import Message, ToolCallInput, ToolCallResult
from refengine.testing.doors import at_call

BEFORE = "before_model_rewrite_history"
AFTER = "after_model_rewrite_history"
WRAP = "wrap_invokable_tool_call"


@dataclass
class Agent:
    """A model, its tools, and handlers; made anew for every run."""

    model: object
    tools: list
    handlers: list
    instruction: str
    steps: int
    history: list = field(default_factory=list)
    asked: int = 0
    status: str = "max_iterations"

    async def run(self, given, ctx):
        """Yield every answer of the model and every result of a tool."""
        first = [Message("system", self.instruction)] if self.instruction else []
        self.history = [*first, *given]
        infos = [each.info for each in self.tools]
        while self.asked < self.steps:
            here = await self.hooks(BEFORE, ctx)
            answer = await self.model.invoke(here, tuple(self.history), infos, {})
            self.asked += 1
            self.history.append(answer)
            yield answer
            here = await self.hooks(AFTER, here)
            calls = self.history[-1].tool_calls
            if not calls:
                self.status = "completed"
                return
            done = (self.call(at_call(here, ctx, each.id), each, ctx) for each in calls)
            for result in await asyncio.gather(*done):
                self.history.append(result)
                yield result

    async def hooks(self, hook, ctx):
        """Let every handler change the history, one after the other."""
        for each in self.handlers:
            if hook in each:
                ctx, left = await each[hook](ctx, tuple(self.history))
                self.history = list(left)
        return ctx

    async def call(self, ctx, call, run):
        """Call a tool inside the handlers that wrap it."""

        async def endpoint(ctx, asked):
            tool = {each.info.name: each for each in self.tools}[call.name]
            here = at_call(ctx, run, call.id)
            return ToolCallResult(await tool.invoke(here, asked.arguments, {}))

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

from refengine.testing import doors


class Door:
    """Builds agents of the engine.

    ``capabilities`` are what your engine has a place for; nothing else is asked of it.
    Give it the ``profile`` that "refengine profile infer" finds, if it is not seed-001.
    """

    name = "small"
    capabilities = (
        *("before_model", "after_model", "wrap_tool", "several_handlers", "next_twice"),
        *("parallel_calls", "concurrent_calls", "equal_call_ids", "lone_surrogates"),
        *("context", "run_locals", "arguments_text", "lock_step"),
    )

    async def build(self, config, on_notice):
        handlers = [doors.handler_hooks(each) for each in config.handlers]

        async def start(messages, stream, options):
            given = (handlers, config.instruction, config.max_iterations)
            agent = loop.Agent(config.model, config.tools_config.tools, *given)
            async for told in agent.run(messages, doors.run_context(config.name)):
                yield doors.event_of(told, config.name)
            yield doors.ended(agent.history, agent.status, iterations=agent.asked)

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
