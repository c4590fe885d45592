"""Points where two engines differ whatever a subject does, and which concern a subject.

They stand in ``points.toml``: each names the posture of the profiles or the row of the
guide that it is about, when it concerns a subject, and the worlds that show it. Which
engines two sides are for is told by what their sources call; nothing is imported
(verdicts, Postures as the map).
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from refengine.testing.subject_worlds.source import named, python_sources

Data: TypeAlias = "dict[str, Any]"
FILE: Final = "points.toml"
RETURN_DIRECT: Final = "return_direct"
TOOL: Final = "tool"
SCHEMA: Final = "response_format"
NEITHER: Final = "neither side speaks"


@dataclass(frozen=True, slots=True)
class EnginePoint:
    """One point: what differs there, whom it concerns, and the worlds that show it.

    It is about a posture of the profiles, about a row of the guide, or about both.
    """

    id: str
    says: str
    worlds: tuple[Data, ...]
    posture: str | None = None
    row: str | None = None
    when: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    side: Literal["old", "new"] | None = None

    @property
    def about(self) -> str:
        """The posture and the row, as a report names them."""
        both = ("posture", self.posture), ("row", self.row)
        return ", ".join(f"{what} {name}" for what, name in both if name)

    def absent(self, said: Mapping[str, SaidNames]) -> str | None:
        """Return why it does not concern these sides, None if it does."""
        sides = [self.side] if self.side else ["old", "new"]
        names = frozenset[str]().union(*(said[side].names for side in sides))
        who = f"{self.side.upper()} does not speak" if self.side else NEITHER
        if self.when and not self.when & names:
            return f"{who} of {', '.join(sorted(self.when))}"
        found = sorted(self.unless & names)
        return f"it speaks of {', '.join(found)}" if found else None


@dataclass(frozen=True, slots=True)
class PointPair:
    """Two profiles of engines, and the points in which they differ."""

    old: str
    new: str
    guide: str
    points: tuple[EnginePoint, ...]
    without: Mapping[str, str]
    """Postures and rows that no world of a subject's shows, and why."""


@dataclass(frozen=True, slots=True)
class SaidNames:
    """The names that stand in the code of one side, and its own tools.

    ``direct`` are tools that return directly, ``ordinary`` its others, and ``schemas``
    the classes that an answer is to fit.
    """

    names: frozenset[str] = frozenset()
    direct: tuple[str, ...] = ()
    ordinary: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()


@cache
def _written() -> Sequence[tuple[tuple[str, str], PointPair]]:
    text = files("compat.migration").joinpath(FILE).read_text("utf-8")
    pairs: Sequence[Data] = tomllib.loads(text)["pair"]
    return [((each["old_calls"], each["new_calls"]), _pair(each)) for each in pairs]


def point_pairs() -> tuple[PointPair, ...]:
    """Return all pairs of engines of which points are written down."""
    return tuple(pair for _, pair in _written())


def pair_of(old: SaidNames, new: SaidNames) -> PointPair | None:
    """Return the pair that two sides are of, None if none is known to differ.

    A side is for the engine that it calls, and calls the other one nowhere.
    """
    for (older, newer), pair in _written():
        if older in old.names and newer not in old.names and newer in new.names:
            return pair
    return None


def said_names(sources: Iterable[str]) -> SaidNames:
    """Return the names that stand in the code of these sources."""
    names: dict[str, None] = {}
    tools: dict[str, bool] = {}
    schemas: dict[str, None] = {}
    for source in python_sources(sources):
        names.update(dict.fromkeys(names_in(source.nodes)))
        tools.update(_tools(source.nodes))
        schemas.update(dict.fromkeys(_schemas(source.nodes)))
    direct = tuple(name for name, is_direct in tools.items() if is_direct)
    ordinary = tuple(name for name, is_direct in tools.items() if not is_direct)
    return SaidNames(frozenset(names), direct, ordinary, tuple(schemas))


def _pair(written: Data) -> PointPair:
    points = (_point(each) for each in written["point"])
    without = {
        about: str(each["why"])
        for each in written.get("without", ())
        for about in (*each["postures"], *each.get("rows", ()))
    }
    old, new, guide = written["old"], written["new"], written["guide"]
    return PointPair(old, new, guide, tuple(points), MappingProxyType(without))


def _point(written: Data) -> EnginePoint:
    return EnginePoint(
        written["id"],
        written["says"],
        tuple(written["world"]),
        written.get("posture"),
        written.get("row"),
        frozenset(written.get("when", ())),
        frozenset(written.get("unless", ())),
        written.get("side"),
    )


def names_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield names, attributes, arguments and keys, wherever they stand in code."""
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name.rpartition(".")[2]
            case ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case _:
                pass


def _tools(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, bool]]:
    """Yield tools that the source makes of functions, and whether each is direct."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for each in node.decorator_list:
                call = each if isinstance(each, ast.Call) else None
                if named(each if call is None else call.func) == TOOL:
                    yield _name(call) or node.name, _is_direct(call)
        elif isinstance(node, ast.Call) and _keyword(node, RETURN_DIRECT) is not None:
            yield from ((name, _is_direct(node)) for name in [_name(node)] if name)


def _name(call: ast.Call | None) -> str | None:
    if call is None:
        return None
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    texts = (each.value for each in given if isinstance(each, ast.Constant))
    return next((each for each in texts if isinstance(each, str)), None)


def _is_direct(call: ast.Call | None) -> bool:
    value = None if call is None else _keyword(call, RETURN_DIRECT)
    return isinstance(value, ast.Constant) and value.value is True


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _schemas(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        value = _keyword(node, SCHEMA) if isinstance(node, ast.Call) else None
        if value is not None:
            inner = (each for each in ast.walk(value) if isinstance(each, ast.Name))
            yield from (each.id for each in inner)
