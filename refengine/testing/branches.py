"""Branch arms: which ways through a subject's own code its worlds have taken.

A module is instrumented when it is imported: each arm of a branch inside a function
gets a probe (``probes``), which puts the arm's number into a set. Code at module level
runs at import and is left alone (verdicts, Migration: branches of each hook body).
"""

from __future__ import annotations

import ast
import builtins
import threading
from dataclasses import dataclass
from types import CodeType
from typing import cast

from refengine.testing.probe_nodes import PROBE
from refengine.testing.probes import Probes


@dataclass(frozen=True, slots=True)
class Arm:
    """One way a branch can go: ``file`` relative to the subject's folder."""

    id: int
    file: str
    line: int
    text: str


class Branches:
    """The arms of all instrumented modules, and those that were taken."""

    def __init__(self) -> None:
        self.arms: list[Arm] = []
        self.taken: set[int] = set()
        self._lock = threading.Lock()

    def install(self) -> None:
        """Make the probe known to all code of this process."""
        setattr(builtins, PROBE, self.taken.add)

    def compiled(self, source: bytes, path: str, file: str) -> CodeType:
        """Compile a module with probes, or plainly where that fails.

        Raises SyntaxError and the like, as importing the module does.
        """
        try:
            # Modules may be imported in several threads, and each arm has one number.
            with self._lock:
                return self._instrumented(source, path, file)
        except Exception:  # noqa: BLE001  # without arms is better than not at all
            return compile(source, path, "exec", dont_inherit=True)

    def _instrumented(self, source: bytes, path: str, file: str) -> CodeType:
        tree = cast(
            "ast.Module",
            compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True),
        )
        first = len(self.arms)
        probes = Probes(first)
        code = compile(probes.visit(tree), path, "exec", dont_inherit=True)
        found = enumerate(probes.arms, first)
        self.arms += [Arm(number, file, line, text) for number, (line, text) in found]
        return code
