"""Mutants that are made: small changes of the engine's own functions.

    for each in changes("loop"):  # "loop.Loop.settle", "no self.live = None", ...
        numbered_mutant(each, ("RUN",))

The operators are those of sharpness (``small_changes``). A function keeps its place and
is given the code of its changed form while an agent of the mutant is built or run, so
the reference beside it stays right, and so does whoever holds the function already.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import PatchedDoor
from refengine.testing.small_changes import SmallChange, apply_change, small_changes

ENGINE: Final = (
    *("agent", "awaiting", "chain", "compiled", "context", "events", "extensions"),
    *("helpers", "hooks", "interrupts", "loop", "messages", "model_calls", "plan"),
    *("routing", "run", "shared_stream", "stream", "struct_middleware", "tool_calls"),
    *("tool_onion", "tools", "resume.calls", "resume.checkpoint", "resume.journal"),
    *("resume.keepable", "resume.keeper", "resume.layers", "resume.outcome"),
    *("resume.passes", "resume.steps"),
)
"""The modules of the engine that are changed: what a run goes through."""


class UnknownChangeError(LookupError):
    """The engine has no such function, or no such small change of it."""

    def __init__(self, function: str, text: str) -> None:
        self.function = function
        self.text = text
        super().__init__(
            f"no small change {text!r} of {function}: the engine has changed; find"
            " another one with 'refengine mutant made'"
        )


@dataclass(frozen=True, slots=True)
class MadeChange:
    """A small change of one function of the engine: ``loop.Loop.settle``, say.

    ``package`` is where its module is found: the dialects have engines, too.
    """

    module: str
    function: str
    change: SmallChange
    package: str = "refengine"

    @property
    def id(self) -> str:
        """Its module and its number there, as long as the engine is as it is."""
        return f"{self.module}:{self.change.number}"

    @property
    def where(self) -> str:
        """The function, with its module."""
        return f"{self.module}.{self.function}"

    @property
    def code(self) -> ModuleType:
        """The module as it is imported."""
        return import_module(f"{self.package}.{self.module}")

    def changed(self) -> tuple[FunctionType, CodeType]:
        """Return the function, and its code when it is changed."""
        tree = ast.parse(source_of(self.code))
        apply_change(tree, self.change.number)
        return code_in(self.code, tree, self.function)


class MadePatch:
    """A function of the engine with the code of its changed form, made when needed."""

    def __init__(self, make: Callable[[], tuple[FunctionType, CodeType]]) -> None:
        self._make = make

    @cached_property
    def _codes(self) -> tuple[FunctionType, CodeType]:
        return self._make()

    def install(self, stack: ExitStack) -> None:
        """Change it until the stack is closed; raises what making it raises."""
        function, code = self._codes
        stack.callback(setattr, function, "__code__", function.__code__)
        function.__code__ = code


def changes(name: str, package: str = "refengine") -> Iterator[MadeChange]:
    """Yield the small changes of all functions of a module of the engine.

    Left out is what stands in no function, or where other code cannot be given: several
    functions of one name, those that use ``super``, and defaults of parameters.
    """
    module = import_module(f"{package}.{name}")
    source = source_of(module)
    spans = spans_of(module)
    for each in small_changes(source):
        if each.statement is None:
            continue
        for function, lines in spans.items():
            if each.statement in lines and each.line in lines:
                yield MadeChange(name, function, each, package)


def made_change(where: str, text: str) -> MadeChange:
    """Return the first change of that text in a function; raises UnknownChangeError."""
    for name in ENGINE:
        if where.startswith(f"{name}."):
            for each in changes(name):
                if (each.where, each.change.text) == (where, text):
                    return each
    raise UnknownChangeError(where, text)


def numbered(id_: str) -> MadeChange | None:
    """Return the change of that id; None if there is none."""
    name = id_.partition(":")[0]
    found = changes(name) if name in ENGINE else ()
    return next((each for each in found if each.id == id_), None)


def made_mutant(id_: str, where: str, text: str, clauses: tuple[str, ...]) -> Mutant:
    """Return the mutant that a clause names by a function and its change."""
    patch = MadePatch(lambda: made_change(where, text).changed())
    return _mutant(id_, where, text, clauses, patch)


def numbered_mutant(made: MadeChange, clauses: tuple[str, ...]) -> Mutant:
    """Return the engine with a change as a mutant under its number."""
    patch = MadePatch(made.changed)
    return _mutant(made.id, made.where, made.change.text, clauses, patch)


def _mutant(
    id_: str, where: str, text: str, clauses: tuple[str, ...], patch: MadePatch
) -> Mutant:
    door = PatchedDoor(id_, lambda: (patch,))
    return Mutant(id=id_, about=f"{where}: {text}.", violates=clauses, wrong=door)


def source_of(module: ModuleType) -> bytes:
    """Return the text of a module."""
    return Path(str(module.__file__)).read_bytes()


def code_in(
    module: ModuleType, text: str | ast.Module, function: str
) -> tuple[FunctionType, CodeType]:
    """Return a function of a module, and its code in another text of the module."""
    whole = compile(text, str(module.__file__), "exec")
    return _functions(module)[function], _code(whole, function)


def _functions(module: ModuleType) -> dict[str, FunctionType]:
    """Return the functions and methods that a module defines, by qualified name."""
    found: dict[str, FunctionType] = {}
    own = partial(_is_of, module)
    classes = (each for each in vars(module).values() if isinstance(each, type))
    for owner in (module, *filter(own, classes)):
        for each in map(_plain, vars(owner).values()):
            if each is not None and own(each):
                found.setdefault(each.__qualname__, each)
    return found


def _is_of(module: ModuleType, value: object) -> bool:
    return inspect.getmodule(value) is module


def _plain(value: object) -> FunctionType | None:
    """Return the function in what stands under a name: a property, a decorated one."""
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__func__", getattr(value, "func", value))
    plain = inspect.unwrap(value) if callable(value) else value
    if isinstance(plain, FunctionType) and not plain.__code__.co_freevars:
        return plain
    return None


def spans_of(module: ModuleType) -> dict[str, range]:
    """Return the lines of the body of each function of a module that stands once."""
    tree, known = ast.parse(source_of(module)), _functions(module)
    found: dict[str, list[range]] = {}
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    bodies = [("", tree.body), *((f"{each.name}.", each.body) for each in classes)]
    for prefix, body in bodies:
        for each in body:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = range(each.body[0].lineno, (each.end_lineno or 0) + 1)
                found.setdefault(prefix + each.name, []).append(lines)
    return {
        name: lines[0]
        for name, lines in found.items()
        if len(lines) == 1 and name in known
    }


def _code(code: CodeType, function: str) -> CodeType:
    """Return the code of a function within that of its module."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_qualname == function:
                return each
            if function.startswith(f"{each.co_qualname}."):
                return _code(each, function)
    raise LookupError(function)
