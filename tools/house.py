"""How large the house is: ``python -m tools.house``, for the changelog's history.

Modules and lines by folder, without tests; those of the engine's core and heart; and
which files a run without handlers goes through, with the number of calls. Lines are
those of the file, blank ones and docstrings too.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from types import FrameType
from typing import Final

from refengine import (
    ChatModelAgentConfig,
    Context,
    Message,
    Options,
    ToolCall,
    ToolInfo,
    ToolsConfig,
    build_agent,
)

ROOT: Final = Path(__file__).parents[1]
ENGINE: Final = ROOT / "refengine"
PRODUCT: Final = ("refengine", "compat", "property_tests", "benchmarks")
HEART: Final = ("loop.py", "chain.py", "tool_calls.py")


class EchoModel:
    """Calls the one tool, then answers."""

    async def invoke(
        self,
        ctx: Context,  # noqa: ARG002  # as every model is asked
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],  # noqa: ARG002  # as every model is asked
        options: Options,  # noqa: ARG002  # as every model is asked
    ) -> Message:
        """Return a call, or an answer when the call has its result."""
        if messages[-1].role == "tool":
            return Message("assistant", "done")
        return Message("assistant", "", (ToolCall("c1", "echo", "{}"),))


class Repeater:
    """Returns its arguments."""

    info = ToolInfo("echo")

    async def invoke(
        self,
        ctx: Context,  # noqa: ARG002  # as every tool is called
        arguments: str,
        options: Options,  # noqa: ARG002  # as every tool is called
    ) -> str:
        """Return what it was given."""
        return arguments


class Crossing:
    """Counts the engine's calls, and in which files they are."""

    def __init__(self) -> None:
        self.calls = 0
        self.files: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Take one event of ``sys.setprofile``."""
        path = Path(frame.f_code.co_filename)
        if event != "call" or ENGINE not in path.parents:
            return
        self.calls += 1
        if path.name not in self.files:
            self.files.append(path.name)


async def crossed() -> Crossing:
    """Return what one run without handlers goes through: two answers and one call."""
    tools = ToolsConfig(tools=[Repeater()])
    config = ChatModelAgentConfig("echo", "", EchoModel(), tools_config=tools)
    agent = await build_agent(config)
    seen = Crossing()
    for profile in (None, seen):  # the first run binds the tools, which others need not
        sys.setprofile(profile)
        async with agent.run([Message("user", "hello")]) as run:
            async for _ in run:
                pass
            await run.result()
        sys.setprofile(None)
    return seen


def lines() -> Iterator[str]:
    """Yield the report, a line each."""
    sizes = {path: _size(path) for top in (*PRODUCT, "tools") for path in _in(top)}
    folders: dict[str, list[int]] = defaultdict(list)
    for path, size in sizes.items():
        folders["/".join(path.relative_to(ROOT).parts[:-1][:2])].append(size)
    for folder in sorted(folders):
        yield f"{folder:26} {len(folders[folder]):4} modules {sum(folders[folder]):6}"
    product = [n for path, n in sizes.items() if _ours(path)]
    p90 = quantiles(product, n=10)[-1]
    yield f"product: {len(product)} modules, {sum(product)} lines"
    yield f"a module: median {median(product):.0f}, nine in ten at most {p90:.0f}"
    core = [size for path, size in sizes.items() if path.parent == ENGINE]
    heart = sum(sizes[ENGINE / name] for name in HEART)
    yield f"the engine's core: {len(core)} files, {sum(core)} lines; its heart {heart}"
    seen = asyncio.run(crossed())
    yield f"a run without handlers: {len(seen.files)} files, {seen.calls} calls"
    yield f"  {' '.join(seen.files)}"


def _in(top: str) -> Iterator[Path]:
    return (ROOT / top).rglob("*.py")


def _ours(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] in PRODUCT


def _size(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


if __name__ == "__main__":
    print("\n".join(lines()))  # noqa: T201  # a command answers
