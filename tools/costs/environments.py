"""What it costs to check in environments of one's own, once they exist.

    python -m tools.costs.environments --pairs 3

One migration is checked with this Python's packages, and with an environment for each
side that has the same versions of them, in turns (``tools.costs.checks``). The first
check with environments makes them, and is not measured. ``--write`` puts the ratio into
docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

from tools.costs.checks import (
    PERFORMANCE,
    ROOT,
    MeasuredCheckout,
    caches_in,
    in_turns,
    medians_of,
)
from tools.pages.blocks import between

COMMAND: Final = "tools.costs.environments"
WHAT: Final = "environments"
PACK: Final = "langgraph_to_langchain/tool_errors"
PACKAGES: Final = (
    "langchain",
    "langchain-core",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-prebuilt",
    "pydantic",
)
"""What the sides import, and what decides how fast that is."""
MOST: Final = 1.1
"""The aim: a tenth more at most."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(f"python -m {COMMAND}")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="docs/performance.md")
    given = parser.parse_args(arguments)
    text = line(measured(given.pairs))
    sys.stdout.write(text)
    if given.write:
        page = PERFORMANCE.read_text("utf-8")
        PERFORMANCE.write_text(between(page, WHAT, text, COMMAND), "utf-8")
    return 0


def measured(pairs: int) -> list[tuple[float, float]]:
    """Return the seconds of each pair: of a check without environments, and with."""
    same = [f"{name}=={version(name)}" for name in PACKAGES]
    options = [
        word
        for side in ("--old-with", "--new-with")
        for each in same
        for word in (side, each)
    ]
    python = Path(sys.executable)
    without = MeasuredCheckout(ROOT, python)
    within = MeasuredCheckout(ROOT, python, options)
    with tempfile.TemporaryDirectory() as folder:
        return in_turns(without, within, PACK, caches_in(folder), pairs)


def line(pairs: Sequence[tuple[float, float]]) -> str:
    """Return what the page says of them."""
    ratio = median(within / without for without, within in pairs)
    without, within = (median(some) for some in zip(*pairs, strict=True))
    return (
        f"A check of `{PACK.rpartition('/')[2]}` takes {without:.1f} s of the processor"
        f" without environments and {within:.1f} s in two that exist: {ratio:.2f} times"
        f" as much (aim: at most {MOST:g}).\n{medians_of(len(pairs))}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
