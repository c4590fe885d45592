"""What a first run of a program shows: its tools, their schemas, instruction, settings.

Nothing else says what worlds a program is to be played in: its source may be in any
language. So it is asked once, and what it sends is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from compat.migration.check import NEVER_ASKED
from compat.migration.pairs import PlayError
from compat.migration.programs.runner import ProgramRunner
from compat.verdicts.migration import FailedSide
from compat.wire.interfaces.request import VendorRequest
from compat.wire.server.programs import AskedModel
from refengine.testing.channels import Seen
from refengine.testing.scenario import AgentSpec, RunSpec, Scenario
from refengine.testing.subject_worlds.declared import DeclaredTool

FIRST: Final = Scenario(
    agent=AgentSpec(),
    model_script=("assistant:fine",),
    runs=(RunSpec(input=("user:hello",)),),
)
"""The world of the first run: one turn, one answer."""


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """What the first request of a program says of it."""

    request: VendorRequest

    @property
    def tools(self) -> tuple[DeclaredTool, ...]:
        """Its tools, in their order."""
        return tuple(
            DeclaredTool(each.name, each.description, each.parameters)
            for each in self.request.tools
        )

    @property
    def texts(self) -> Iterable[str]:
        """What it says in words: instruction, descriptions of tools."""
        yield from (each.content for each in self.request.messages if each.content)
        yield from (each.description for each in self.request.tools if each.description)


def discovered(runner: ProgramRunner) -> FoundProgram:
    """Ask a program once; raises PlayError, also where it does not ask its model."""
    played = runner.begun(FIRST).result()
    for entry in played.log:
        if isinstance(entry, AskedModel):
            return FoundProgram(entry.request)
    text = (
        f"{runner.label} {str(runner.command)!r} never asks the model: in its first"
        " turn nothing came to the address in OPENAI_BASE_URL, ANTHROPIC_BASE_URL or"
        f" GOOGLE_GEMINI_BASE_URL{_instead(played.jsonl, runner)}"
    )
    raise PlayError(FailedSide(runner.label, NEVER_ASKED, text, usage=False))


def _instead(jsonl: str, runner: ProgramRunner) -> str:
    seen = Seen(jsonl)
    for each in seen.of("event", "effect"):
        data = each["data"]
        if data.get("kind") == "error":
            log = runner.log
            return f"; it ended with {data['class']}{f': {log}' if log else ''}"
        if each["kind"] == "effect":
            return f"; it did: {data['name']} {data['data']}"
        return f"; it answered {data['whole']['text'][:100]!r}"
    return ""


def all_tools(found: Sequence[FoundProgram]) -> tuple[DeclaredTool, ...]:
    """Return the tools of all sides, each name once."""
    by_name = {tool.name: tool for each in found[::-1] for tool in each.tools}
    return tuple(by_name.values())
