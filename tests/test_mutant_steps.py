"""What mutants stand on: public steps of the engine, in one table, and nothing else."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from property_tests import mutants
from property_tests.mutants import MUTANTS
from property_tests.mutants.patching import Patch, PatchedDoor
from property_tests.mutants.steps import STEPS

FILES = sorted(Path(mutants.__file__).parent.rglob("*.py"))
DOORS = [each.wrong for each in MUTANTS if isinstance(each.wrong, PatchedDoor)]
PATCHES = [patch for door in DOORS for patch in door.patches()]
REPLACED = {patch.step for patch in PATCHES if isinstance(patch, Patch)}

PYTHONS = frozenset(
    (
        "__init__",
        "__aenter__",
        "__aexit__",
        "__aiter__",
        "__cause__",
        "__setitem__",
        *("__code__", "__file__", "__func__", "__qualname__"),
    )
)
"""Names that Python gives, and not the engine."""

each_step = pytest.mark.parametrize("name", STEPS)


def private_uses(tree: ast.AST, *, own: bool = False) -> Iterator[str]:
    """Yield the private names that are used, but those of a class by its ``self``."""
    own = own or isinstance(tree, ast.ClassDef)
    if isinstance(tree, ast.Attribute) and is_private(tree.attr):
        of_self = isinstance(tree.value, ast.Name) and tree.value.id == "self"
        if not (own and of_self):
            yield f"line {tree.lineno}: {tree.attr}"
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        names = [each.value for each in tree.args if isinstance(each, ast.Constant)]
        if tree.func.id.endswith("attr"):
            yield from (
                f"line {tree.lineno}: {name}" for name in names if is_private(name)
            )
    for each in ast.iter_child_nodes(tree):
        yield from private_uses(each, own=own)


def is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and name not in PYTHONS


def test_every_patch_replaces_a_step_of_the_table() -> None:
    assert {*STEPS.values()} >= REPLACED


@each_step
def test_every_step_is_replaced_by_a_mutant(name: str) -> None:
    assert STEPS[name] in REPLACED


@each_step
def test_a_step_is_public_and_says_what_it_does(name: str) -> None:
    step = STEPS[name]
    right = vars(step.owner)[step.attribute]

    assert not step.attribute.startswith("_")
    assert not step.owner.__name__.rpartition(".")[2].startswith("_")
    assert inspect.getdoc(right)


def test_there_are_few_steps() -> None:
    assert len(STEPS) <= 20


@pytest.mark.parametrize("path", FILES, ids=lambda each: each.stem)
def test_a_mutant_looks_at_nothing_private(path: Path) -> None:
    text = path.read_text("utf-8")

    assert list(private_uses(ast.parse(text))) == []
    assert "SLF001" not in text


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("def step(self):\n    return self._ctx", ["line 2: _ctx"]),
        ("loop._ctx", ["line 1: _ctx"]),
        ("getattr(loop, '_ctx')", ["line 1: _ctx"]),
        ("class Own:\n    def of(self):\n        return self._ctx", []),
        ("inner.__name__", ["line 1: __name__"]),
        ("loop.ctx", []),
    ],
)
def test_a_private_use_is_found(code: str, used: list[str]) -> None:
    assert list(private_uses(ast.parse(code))) == used
