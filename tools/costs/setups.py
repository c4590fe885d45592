"""What a setup adds to a check of a migration, and what of that is the observer's own.

    python -m tools.costs.setups --pairs 3

One agent of LangChain is checked against the same agent in another file, in turns: with
no setup, with one that puts a function around another and does nothing else, and with
OpenInference's instrumentor. What the second takes more than the first is ours; what
the third takes more than the second is the observer's: its import, and its work in each
call. A check that makes the environment goes before all of them. Each has few worlds,
so that what is done once for a process counts for more. What is measured is
processor time, as in ``tools.costs.checks``. ``--write`` puts the ratios into
docs/observers.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from tools.costs.checks import ROOT, caches_in, medians_of, processor_seconds
from tools.pages.blocks import between

PAGE: Final = ROOT / "docs" / "observers.md"
COMMAND: Final = "tools.costs.setups"
WHAT: Final = "setups"
MOST: Final = 1.2
"""The aim: what is ours takes a fifth more at most."""
AGENT: Final = """
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware


class Brief(AgentMiddleware):
    def before_model(self, state, runtime):
        return None


def subject(world):
    lc = world.as_langchain()
    return create_agent(lc.model, lc.tools, middleware=[Brief()])
"""
PACKAGES: Final = (
    "langchain==1.5.2",
    "langgraph==1.2.24",
    "openinference-instrumentation-langchain==0.1.80",
    "opentelemetry-sdk==1.45.2",
)
WRAPPER: Final = """
from langchain_core.language_models.chat_models import BaseChatModel

plain = BaseChatModel.invoke


def invoke(self, *given, **named):
    return plain(self, *given, **named)


BaseChatModel.invoke = invoke
"""
OBSERVER: Final = """
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=provider)
"""
SETUPS: Final = {"none": None, "wrapper": WRAPPER, "observer": OBSERVER}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(f"python -m {COMMAND}")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="docs/observers.md")
    given = parser.parse_args(arguments)
    text = lines(measured(given.pairs))
    sys.stdout.write(text)
    if given.write:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(between(page, WHAT, text, COMMAND), "utf-8")
    return 0


def measured(turns: int) -> list[dict[str, float]]:
    """Return the seconds of each turn, by what the setup is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = {each: _command(folder, each) for each in SETUPS}
        env = caches_in(str(folder / "caches"))
        processor_seconds(commands["observer"], folder, env)
        found: list[dict[str, float]] = []
        for turn in range(turns):
            order = [*SETUPS][turn % len(SETUPS) :] + [*SETUPS][: turn % len(SETUPS)]
            took = {
                each: processor_seconds(commands[each], folder, env) for each in order
            }
            found.append(took)
        return found


def _command(folder: Path, setup: str) -> list[str]:
    """Return the command of a check, whose files are written."""
    for side in ("old", "new"):
        (folder / f"{side}.py").write_text(f'"""The {side} agent."""\n{AGENT}', "utf-8")
    (folder / "packages.txt").write_text("\n".join(PACKAGES), "utf-8")
    command = [sys.executable, "-m", "refengine", "migrate", "check"]
    command += ["old.py", "new.py", "--examples", "40", "--search-plays", "0"]
    command += ["--old-with", "packages.txt", "--new-with", "packages.txt"]
    text = SETUPS[setup]
    if text is None:
        return command
    (folder / f"{setup}.py").write_text(text, "utf-8")
    return [*command, "--new-setup", f"{setup}.py"]


def lines(turns: Sequence[dict[str, float]]) -> str:
    """Return what the page says of them."""
    seconds = {each: median(turn[each] for turn in turns) for each in SETUPS}
    ours = _ratio(turns, "wrapper")
    return (
        "| a check of an agent of LangChain | processor time | ratio |\n|---|--:|--:|\n"
        f"| without a setup | {seconds['none']:.1f} s | 1 |\n"
        "| with one that puts a function around another: what is ours"
        f" | {seconds['wrapper']:.1f} s | {ours:.2f} (aim: at most {MOST:g}) |\n"
        "| with OpenInference: ours, its import and its work in each call"
        f" | {seconds['observer']:.1f} s | {_ratio(turns, 'observer'):.2f} |\n"
        f"\n{medians_of(len(turns))}\n"
    )


def _ratio(turns: Sequence[dict[str, float]], setup: str) -> float:
    return median(turn[setup] / turn["none"] for turn in turns)


if __name__ == "__main__":
    sys.exit(main())
