"""Runs every change and writes what came of it.

    python -m property_tests.mutating [MODULE…] [--jobs N]

Exit code 1 if a change survives that ``survivors.toml`` has no reason for, 5 if a
reason there is for none.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from compat.commands import DIFFERS, FAULT, OK, STALE, USAGE, exit_code
from property_tests.corpus import Corpus, fixed_worlds
from property_tests.generating import generated
from property_tests.mutating.page import page
from property_tests.mutating.sites import MODULES, Change, changes, unchanged
from property_tests.mutating.trial import SURVIVED

ROOT: Final = Path(__file__).parent.parent.parent
PACKAGES: Final = ("refengine", "compat", "property_tests")
PAGE: Final = ROOT / "docs" / "mutation-testing.md"
REASONS: Final = Path(__file__).with_name("survivors.toml")
EXAMPLES: Final = 90
SECONDS: Final = 300
"""A change that makes the judgement take longer is noticed: it hangs."""


class Trees:
    """Copies of the packages, one for each job, in which changes are made."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for at in range(jobs):
            tree = folder / f"tree-{at}"
            for package in PACKAGES:
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / package, tree / package, ignore=ignored)
            self._free.put(tree)

    def noticed(self, change: Change, corpus: Path) -> str | None:
        """Return what noticed a change, None if nothing did."""
        tree = self._free.get()
        path = tree / change.module
        right = path.read_text("utf-8")
        try:
            path.write_text(change.source, "utf-8")
            return _judged(tree, corpus)
        finally:
            path.write_text(right, "utf-8")
            self._free.put(tree)


def _judged(tree: Path, corpus: Path) -> str | None:
    command = [sys.executable, "-P", "-B", "-c", _START, str(tree), str(corpus)]
    try:
        done = subprocess.run(  # noqa: S603  # our own trial
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == SURVIVED:
        return None
    return (done.stdout.strip() or "breaks")[:120]


_START: Final = """\
import sys
sys.path.insert(0, sys.argv[1])
from property_tests.mutating.trial import main
sys.exit(main(sys.argv[1:]))
"""


def main(arguments: Sequence[str]) -> int:
    """Try all changes of the modules, print and return what it comes to."""
    parser = ArgumentParser(prog="python -m property_tests.mutating")
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    if find_spec("cosmic_ray") is None:
        sys.stderr.write("it needs cosmic-ray: pip install 'refengine[mutation]'\n")
        return USAGE
    tried, survived = Counter[str](), dict[str, Change]()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.json"
        fixed = tuple(fixed_worlds())
        worlds = (*fixed, *generated(EXAMPLES, seed=0, fixed=fixed))
        corpus.write_text(Corpus(worlds, 0).json, "utf-8")
        trees = Trees(Path(folder), asked.jobs)
        if (wrong := trees.noticed(unchanged(ROOT), corpus)) is not None:
            sys.stdout.write(f"the unchanged engine fails {wrong}: mend that first\n")
            return FAULT
        with ThreadPoolExecutor(asked.jobs) as pool:
            found = [each for module in asked.modules for each in changes(ROOT, module)]
            told_by = pool.map(trees.noticed, found, repeat(corpus))
            for change, noticed in zip(found, told_by, strict=True):
                tried[change.module] += 1
                if noticed is None:
                    survived[change.id] = change
                sys.stdout.write(
                    f"{noticed or 'SURVIVES'}\t{change.line}\t{change.id}\n"
                )
                sys.stdout.flush()
    return _told(tried, survived, asked.modules)


def _told(
    tried: Mapping[str, int], survived: Mapping[str, Change], modules: Sequence[str]
) -> int:
    reasons = {k: v for k, v in _reasons().items() if k.partition(":")[0] in modules}
    new = [each for each in survived if each not in reasons]
    stale = [each for each in reasons if each not in survived]
    for word, ids in (("no reason for", new), ("no survivor", stale)):
        for each in ids:
            sys.stdout.write(f"{word}: {each}\n")
    if set(modules) == set(MODULES):
        PAGE.write_text(page(tried, survived, _reasons()), "utf-8")
    sys.stdout.write(json.dumps(_score(tried, survived), indent=1) + "\n")
    return exit_code(DIFFERS if new else OK, STALE if stale else OK)


def _score(
    tried: Mapping[str, int], survived: Mapping[str, Change]
) -> dict[str, object]:
    alive = Counter(each.module for each in survived.values())
    total, left = sum(tried.values()), sum(alive.values())
    modules = {name: [count - alive[name], count] for name, count in tried.items()}
    return {"score": round((total - left) / total, 4), "tried": total, **modules}


def _reasons() -> dict[str, str]:
    if not REASONS.exists():
        return {}
    data = tomllib.loads(REASONS.read_text("utf-8"))
    return {each["change"]: each["reason"] for each in data.get("survivor", ())}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
