"""Every single change of a module that cosmic-ray makes and that can be noticed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from typing import Any, Final

MODULES: Final = (
    "refengine/chain.py",
    "refengine/toolfold.py",
    "refengine/direct.py",
    "refengine/routing.py",
    "refengine/react.py",
    "refengine/batch.py",
    "refengine/call.py",
    "refengine/model_onion.py",
    "refengine/stream.py",
    "compat/adapters/structs.py",
    "compat/adapters/state.py",
)
"""Chain, tool merge, loop, streams, adapters: what the issue of a run rests on."""

LEFT_OUT: Final = ("VariableReplacer", "VariableInserter", "RemoveDecorator")
"""The first two want arguments; without @dataclass or @property nothing would load."""

ALIKE: Final = ("ReplaceBinaryOperator", "ReplaceComparisonOperator")
"""Of these cosmic-ray has a dozen for one place; the first two of a place are taken."""
AT_MOST: Final = 2


@dataclass(frozen=True, slots=True)
class Change:
    """One change: of which module, by which operator, and the lines that differ."""

    module: str
    operator: str
    line: int
    removed: str
    added: str
    source: str

    @property
    def id(self) -> str:
        """What a list of survivors calls it: stable while these lines stand."""
        return f"{self.module}: {self.removed} -> {self.added}"


def changes(root: Path, module: str) -> Iterator[Change]:
    """Yield every change of a module; needs cosmic-ray."""
    # A tool of this command alone, without types; by name, so nobody looks for stubs.
    plugins: Any = import_module("cosmic_ray.plugins")
    mutate_code: Any = import_module("cosmic_ray.mutating").mutate_code
    right = (root / module).read_text("utf-8")
    seen = {_meaning(right)}
    places: dict[tuple[str, str], int] = {}
    for name in sorted(plugins.operator_names()):
        if name.rpartition("/")[2] in LEFT_OUT:
            continue
        operator = plugins.get_operator(name)()
        occurrence = 0
        while (text := mutate_code(right, operator, occurrence)) is not None:
            occurrence += 1
            change = _change(module, name, right, str(text))
            if change is not None and _is_new(change, seen, places):
                yield change


def unchanged(root: Path) -> Change:
    """Return the change that is none: nothing may be noticed of it."""
    module = MODULES[0]
    return Change(module, "none", 0, "", "", (root / module).read_text("utf-8"))


def _is_new(change: Change, seen: set[str], places: dict[tuple[str, str], int]) -> bool:
    """Tell whether a change means something that no earlier one did."""
    try:
        meaning = _meaning(change.source)
    except SyntaxError:
        return False
    if meaning in seen:
        return False
    seen.add(meaning)
    kind = change.operator.rpartition("/")[2]
    for alike in ALIKE:
        if kind.startswith(alike):
            place = (alike, f"{change.line} {change.removed}")
            places[place] = places.get(place, 0) + 1
            return places[place] <= AT_MOST
    return True


def _meaning(source: str) -> str:
    """Return the tree without annotations, which nothing evaluates here."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _change(module: str, operator: str, right: str, wrong: str) -> Change | None:
    old, new = right.splitlines(), wrong.splitlines()
    diff = list(unified_diff(old, new, lineterm="", n=0))[2:]
    removed = " ".join(each[1:].strip() for each in diff if each.startswith("-"))
    added = " ".join(each[1:].strip() for each in diff if each.startswith("+"))
    if not diff:
        return None
    pairs = enumerate(zip(old, new, strict=False), 1)
    line = next((at for at, (a, b) in pairs if a != b), 0)
    return Change(module, operator, line, removed, added, wrong)
