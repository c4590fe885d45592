"""What a subject's source looks for by name: options, state keys, errors, steps.

A caller gives such a value as ``config["configurable"]``, as the runtime's context, as
metadata or as a key of the state. A source says which by what it looks in, also behind
another name: ``ctx = runtime.context`` and then ``ctx.tenant``. Agents of ADK are given
theirs as the state that a session begins with.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

from refengine.messages import Json
from refengine.testing.subject_worlds.answers import replies_of
from refengine.testing.subject_worlds.declared_schemas import UNCHECKED
from refengine.testing.subject_worlds.own_tool_names import own_tool_names
from refengine.testing.subject_worlds.schema_edges import (
    Schema,
    edges,
    fits,
    typical,
)
from refengine.testing.subject_worlds.source import (
    FOLDS,
    PythonSource,
    constant_of,
    lookup_of,
    named,
    python_sources,
    text_of,
)

Value: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"

CONTEXT: Final = "context"
CONFIGURABLE: Final = "configurable"
METADATA: Final = "metadata"
STATE: Final = "state"
BESIDE: Final = "other"
"""How the name of a value begins that nobody looks for."""
DOORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        CONTEXT: CONTEXT,
        CONFIGURABLE: CONFIGURABLE,
        "config": CONFIGURABLE,
        METADATA: METADATA,
        STATE: STATE,
    }
)
"""What holds values that a caller gives by name, and the door it is."""
SCHEMAS: Final[Mapping[str, str]] = MappingProxyType(
    {"context_schema": CONTEXT, "config_schema": CONFIGURABLE}
)
"""How a graph is told what its caller gives it, and by which door."""
MISSED: Final = frozenset(
    (
        *("AttributeError", "BaseException", "Exception", "KeyError"),
        *("LookupError", "TypeError", "ValidationError", "ValueError"),
    )
)
"""What code catches that looks for a value and may not find it."""
TAKES: Final = "takes"
"""How a subject tells its world by which door its caller gives a value."""
RESERVED: Final = frozenset(
    (
        *("callbacks", "checkpoint_id", "checkpoint_ns", "configurable", "get"),
        *("is_last_step", "items", "jump_to", "keys", "llm_input_messages"),
        *("max_concurrency", "messages", "metadata", "model_dump", "recursion_limit"),
        *("remaining_steps", "structured_response", "tags", "thread_id", "values"),
    )
)
"""Names that the frameworks keep for themselves, and methods of what holds values."""
LONGEST: Final = 40
"""A longer text is not a value that a caller gives by name."""
BY_TYPE: Final[Mapping[str, tuple[Value, ...]]] = MappingProxyType(
    {
        "int": (0, 1, 2),
        "float": (0.5, 2.0),
        "bool": (True, False),
        "list": (["a"], [], ["a", "b"]),
        "dict": ({"a": 1}, {}),
    }
)
SETS: Final = frozenset(("frozenset", "set", "tuple"))
"""What makes a collection of what another one holds."""
CUTS: Final = "[:]"
"""How a part of a text is taken, with what stands behind it where that is told."""
PARTING: Final = frozenset(("split", "rsplit", "partition", "rpartition"))
"""Methods that take a text apart where it has the one that they are given."""
CONTAINERS: Final = frozenset(("list", "dict", "Sequence", "Mapping"))
STRIPS: Final = frozenset(("strip", "lstrip", "rstrip"))
"""Methods after which spaces around a text count for nothing."""
AROUND: Final = frozenset(("NotRequired", "Required", "Annotated", "Optional"))
"""What stands around the type of a field."""


class NamedValues:
    """Gathers what the sources of a side look for by name."""

    def __init__(self) -> None:
        self.doors: dict[str, set[str]] = {}
        self.needed: dict[str, bool] = {}
        self.required: set[str] = set()
        self.declared: dict[str, str] = {}
        self.guarded: set[str] = set()
        self.elsewhere: set[str] = set()
        self.types: dict[str, str] = {}
        self.choices: dict[str, tuple[str, ...]] = {}
        self.texts: dict[str, None] = {"a": None}
        self.numbers: dict[float, None] = {}
        self.methods: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._bound: Mapping[str, ast.expr] = {}
        self._tried: frozenset[int] = frozenset()

    def read(self, source: PythonSource) -> None:
        """Take over what one source says."""
        self._aliases, self._constants = {}, {}
        self._bound = dict(source.bound)
        for name, value in source.bound:
            if isinstance(constant_of(value), str):
                self._constants[name] = text_of(value)
            if named(value) in {CONTEXT, CONFIGURABLE, METADATA}:
                self._aliases[name] = named(value)
        for node in source.nodes:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._typed(node.target.id, node.annotation)
        self._tried = frozenset(_tried(source.nodes))
        for node in source.nodes:
            self._said(node)
            self._looked_up(node)
        self.methods |= methods_in(source.nodes)
        self._declared(source.nodes)

    def asks(self, name: str) -> bool:
        """Tell whether the source takes a value without asking if it is there."""
        return self.needed[name] and name not in self.guarded

    def _declared(self, nodes: Iterable[ast.AST]) -> None:
        """Take over the fields of classes that are a graph's context."""
        classes = {each.name: each for each in nodes if isinstance(each, ast.ClassDef)}
        used = {
            named(keyword.value): SCHEMAS[keyword.arg]
            for node in nodes
            if isinstance(node, ast.Call)
            for keyword in node.keywords
            if keyword.arg is not None and keyword.arg in SCHEMAS
        }
        for call in (each for each in nodes if isinstance(each, ast.Call)):
            if named(call.func) == TAKES:
                self.declared |= {k.arg or "": text_of(k.value) for k in call.keywords}
        for name, door in used.items():
            checked, body = True, list[ast.stmt]()
            if name in classes:
                checked = all(named(b) != "TypedDict" for b in classes[name].bases)
                body = classes[name].body
            for each in body:
                if isinstance(each, ast.AnnAssign):
                    required = checked and each.value is None
                    self._field(each.target, door, required=required)

    def _field(self, target: ast.expr, door: str, *, required: bool) -> None:
        if isinstance(target, ast.Name):
            known = target.id in self.doors
            self.declared[target.id] = door
            self._name(target.id, door if not known else "", needed=required)
            if required:
                self.required.add(target.id)
            else:  # its class has a value for it
                self.needed[target.id] = False

    def _said(self, node: ast.AST) -> None:
        """Remember texts and numbers that values are compared with."""
        if isinstance(node, ast.Compare):
            for each in compared(node, self._bound):
                self._value(each)
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                self._value(key)
        elif isinstance(node, ast.MatchValue):
            self._value(node.value)

    def _looked_up(self, node: ast.AST) -> None:
        """Remember a name that is looked for in what holds named values."""
        if isinstance(node, ast.Attribute):
            if self._door_of(node.value) == CONTEXT:
                self._name(node.attr, CONTEXT, needed=id(node) not in self._tried)
            return
        found = lookup_of(node)
        if found is None or found.how not in {"item", "get", "getattr", "in"}:
            return
        name = self._key(found.key)
        needed = found.how == "item" and id(node) not in self._tried
        door = self._door_of(found.holder)
        if isinstance(name, str):
            if not door and found.how != "in":
                self.elsewhere.add(name)
            elif door and found.how == "in":
                self.guarded.add(name)
        self._name(name, door, needed=needed)
        for default in found.defaults[:1]:
            self._value(default)
            kind = _kind_of(default)
            if isinstance(name, str) and kind in BY_TYPE:
                self.types.setdefault(name, kind)

    def _door_of(self, node: ast.expr) -> str:
        name = named(node)
        return DOORS.get(self._aliases.get(name, name), "")

    def _key(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        return self._constants.get(node.id) if isinstance(node, ast.Name) else None

    def _name(self, name: object, door: str, *, needed: bool) -> None:
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            return
        if not door and name not in self.doors:
            return
        self.doors.setdefault(name, set()).update({door} if door else ())
        self.needed[name] = self.needed.get(name, False) or needed

    def _typed(self, name: str, annotation: ast.expr) -> None:
        """Remember of which type a name is declared, if values of it can be made."""
        while isinstance(annotation, ast.Subscript):
            parts: list[ast.expr]
            parts = getattr(annotation.slice, "elts", [annotation.slice])
            around = named(annotation.value)
            if around == "Literal":
                texts = map(constant_of, parts)
                self.choices[name] = tuple(t for t in texts if isinstance(t, str))
                return
            if around in CONTAINERS and named(parts[-1]) in {"str", "int", "Any", ""}:
                self.types[name] = "dict" if len(parts) > 1 else "list"
                return
            if around not in AROUND:
                return
            annotation = parts[0]
        if isinstance(annotation, ast.BinOp):  # str | None
            annotation = annotation.left
        kind = named(annotation)
        if kind in BY_TYPE or kind == "str":
            self.types[name] = kind

    def _value(self, node: ast.expr | None) -> None:
        value = constant_of(node)
        if isinstance(value, str) and len(value) <= LONGEST:
            self.texts[value] = None
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self.numbers[value] = None


def compared(node: ast.Compare, bound: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """Yield the sides of a comparison, and what is in one that is looked through.

    ``bound`` are what names stand for.
    """
    for each in (node.left, *node.comparators):
        yield each
        held = bound.get(each.id, each) if isinstance(each, ast.Name) else each
        if isinstance(held, ast.Call) and named(held.func) in SETS:
            held = next(iter(held.args), held)
        if isinstance(held, (ast.Tuple, ast.List, ast.Set)):
            yield from held.elts


def methods_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names of methods that are called, and ``CUTS`` if a part is taken."""
    found: set[str] = set()
    for each in nodes:
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            found.add(each.func.attr)
            at = constant_of(next(iter(each.args), None))
            if each.func.attr in PARTING and isinstance(at, str):
                found.add(f"{CUTS}{at}")
        elif isinstance(each, ast.Slice) and constant_of(each.upper) is not None:
            found.add(CUTS)
    return found


def other_forms(texts: Iterable[str], methods: AbstractSet[str]) -> list[str]:
    """Return texts as a caller may write them, where a source makes them alike first.

    In the other case where the case counts for nothing, with spaces around where those
    do, and longer where only a part is taken: a port that does not is told by these
    alone.
    """
    some = [each for each in texts if each.strip()]
    cases = [each.swapcase() for each in some] if methods & FOLDS else []
    spaced = [f" {each} " for each in some] if methods & STRIPS else []
    behind = sorted(m.removeprefix(CUTS) or "-" for m in methods if m.startswith(CUTS))
    longer = [f"{each}{at}{each.upper()}" for at in behind for each in some]
    return [each for each in (*cases, *spaced, *longer) if each not in some]


def _kind_of(default: ast.expr) -> str:
    """Return the type of a value that is written there, as it is called."""
    if isinstance(default, ast.List | ast.Dict):
        return type(default).__name__.lower()
    return type(constant_of(default)).__name__


def _tried(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the ids of nodes that stand where a missing value is caught."""
    for node in nodes:
        if isinstance(node, ast.Try):
            caught = {named(t) for h in node.handlers for t in _classes(h.type)}
            if not caught or not MISSED.isdisjoint(caught):
                yield from (id(n) for each in node.body for n in ast.walk(each))


def _classes(caught: ast.expr | None) -> Sequence[ast.expr]:
    if caught is None:
        return ()
    return caught.elts if isinstance(caught, ast.Tuple) else (caught,)


# Graphs

ALONE: Final = ("as_langchain", "as_pydantic_ai")
"""Who asks a world for one of these returns a graph, or one agent of pydantic-ai."""
OLDER_SCHEMA: Final = "config_schema"
"""A graph's name for what is given as ``configurable``, which it keeps as a context."""
COUNTS: Final = re.compile(r"remaining_steps|is_last_step")
"""How a source reads the steps that a run may still take."""
MOST: Final = 8
"""So many names are looked up, and so many classes raised."""
GENERAL: Final = frozenset(
    (
        "Exception",
        "BaseException",
        "ExceptionGroup",
        "BaseExceptionGroup",
        "NotImplementedError",  # by which the frameworks say that a way is missing
        "UnicodeDecodeError",
        "UnicodeEncodeError",
        "UnicodeTranslateError",  # not made from a text
        "StopIteration",
        "StopAsyncIteration",  # end a generator, whoever raises them
    )
)
"""Classes of errors that a scripted one is anyway, or cannot be."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value that runs are given by name.

    One that is ``needed`` is taken without asking whether it is there. A caller of OLD
    gives it by one of the ``doors`` at a time, or by all; where there are none, it is
    not known by which. ``edges`` are values at the bounds of its schema, also beyond,
    and texts in other forms.
    """

    name: str
    values: tuple[Value, ...] = ("a",)
    needed: bool = False
    doors: tuple[str, ...] = ()
    edges: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class MovedValue:
    """A value that NEW looks for by none of the doors by which OLD's caller gives it.

    NEW may have ``declared`` that its caller gives it there.
    """

    name: str
    old: str
    new: str
    declared: bool


@dataclass(frozen=True, slots=True)
class GraphWords:
    """Options of runs, names of errors, whether a source counts steps, and answers.

    ``replies`` are what a caller of OLD answers to what it asks, each with its kind.
    ``adk`` says that it is agents of ADK, whose options are the state that a session
    begins with, and ``agents`` are their names. With ``limits`` runs are allowed few
    steps, each number of them: which suffices, another graph for the same code changes.
    ``own_tools`` are the names of the sources' own tools. ``across`` says that the
    sides are of two frameworks.
    """

    options: tuple[Option, ...] = ()
    errors: tuple[str, ...] = ()
    counts: bool = False
    replies: tuple[tuple[str, Json], ...] = ()
    agents: tuple[str, ...] = ()
    adk: bool = False
    limits: bool = False
    moved: tuple[MovedValue, ...] = ()
    own_tools: frozenset[str] = frozenset()
    across: bool = False


def is_graph_source(source: str) -> bool:
    """Tell whether a subject's source builds a graph, or one agent that is as alone."""
    return any(face in source for face in ALONE)


def graph_words(
    sources: Iterable[str],
    old: Iterable[str] = (),
    schemas: Mapping[str, Sequence[Schema]] = MappingProxyType({}),
) -> GraphWords:
    """Return the words of these sources; one that does not parse has none.

    ``old`` are those of them that are OLD's: how its callers give values. ``schemas``
    are those that a name has in states and contexts.
    """
    texts, before = list(sources), list(old)
    read, first = python_sources(texts), _gathered(python_sources(before))
    made = _options(_gathered(read), first)
    options = tuple(_at_edges(each, schemas.get(each.name, ())) for each in made)[:MOST]
    options += tuple(_beside(options, schemas))
    counts = any(COUNTS.search(text) is not None for text in texts)
    replies = replies_of(before, texts)
    later = _gathered(python_sources(each for each in texts if each not in before))
    moved = tuple(_moved(first, later))
    own = own_tool_names(read)
    found = GraphWords(options, errors_of(read), counts, replies, moved=moved)
    faces = {face for face in ALONE if any(face in text for text in texts)}
    return replace(found, own_tools=own, across=faces == {*ALONE})


def _moved(old: NamedValues, new: NamedValues) -> Iterator[MovedValue]:
    for name, doors in old.doors.items():
        now = new.doors.get(name, set())
        if now and not doors & now and name not in old.elsewhere:
            said = new.declared.get(name)
            by_old, by_new = (" and ".join(sorted(each)) for each in (doors, now))
            yield MovedValue(name, by_old, said or by_new, declared=said is not None)


@cache
def doors_of(sources: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
    """Return through which doors a side's sources look for each name.

    A graph with a ``config_schema`` is given its fields as ``configurable``, too.
    """
    found = _gathered(python_sources(sources))
    older = any(OLDER_SCHEMA in text for text in sources)
    more = {CONFIGURABLE, CONTEXT} if older else set[str]()
    return {name: frozenset(some | more) for name, some in found.doors.items()}


@cache
def looks_for_a_context(sources: tuple[str, ...]) -> bool:
    """Tell whether a side looks if it is given a context at all.

    Then its callers are no fewer than those that give none.
    """
    return any(_looks_for_a_context(each) for each in python_sources(sources))


def _looks_for_a_context(source: PythonSource) -> bool:
    names = {name for name, value in source.bound if named(value) == CONTEXT}
    asked = (each for node in source.nodes for each in _asked(node))
    return any(
        (isinstance(each, ast.Attribute) and each.attr == CONTEXT)
        or (isinstance(each, ast.Name) and each.id in names)
        for each in asked
    )


def _asked(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a node asks whether it is there: by its truth, or beside None."""
    match node:
        case ast.BoolOp(values=[*first, _]):
            yield from first
        case ast.If(test=test) | ast.IfExp(test=test) | ast.UnaryOp(ast.Not(), test):
            yield test
        case ast.Compare(left=left, comparators=[ast.Constant(value=None)]):
            yield left
        case _:
            pass


def _gathered(sources: Iterable[PythonSource]) -> NamedValues:
    found = NamedValues()
    for each in sources:
        found.read(each)
    return found


def _options(found: NamedValues, old: NamedValues) -> Iterator[Option]:
    """Yield the options; a key of the state has a plain type, or it is the subject's.

    What a subject gathers in its state, such as a list of what was said, is not a value
    that a caller gives.
    """
    texts = tuple(found.texts)[:12]
    for name, doors in found.doors.items():
        kind = found.types.get(name)
        plain = name in found.choices or kind not in {None, "list", "dict"}
        if doors == {STATE} and not plain:
            continue
        values = found.choices.get(name) or _values(kind, found) or texts
        # What OLD does without is needed only where the framework itself asks for it.
        asks = old.asks(name) if name in old.doors else found.asks(name)
        known = sorted(old.doors.get(name, ()))
        if name in old.elsewhere:  # perhaps in what stands for one of the others
            known = []
        needed = asks or name in found.required
        said = [each for each in values if isinstance(each, str)]
        forms = tuple(other_forms(said, found.methods))
        yield Option(name, values, needed, tuple(known), forms)


def _at_edges(option: Option, schemas: Sequence[Schema]) -> Option:
    """Return the option with values that one of its schemas takes, and their edges.

    Values of another type only where something checks them: no caller gives such.
    """
    if not schemas:
        return option
    both = ((schema, edge) for schema in schemas for edge in edges(schema))
    near = [edge.value for s, edge in both if edge.sharp or UNCHECKED not in s]
    some = [*(each for each in option.values), *map(typical, schemas)]
    fit = [each for each in some if any(fits(each, schema) for schema in schemas)]
    values = [each for at, each in enumerate(fit) if each not in fit[:at]]
    near = [*option.edges, *near]
    return replace(option, values=tuple(values or some[:1]), edges=tuple(near))


def _beside(options: Sequence[Option], known: Container[str]) -> Iterator[Option]:
    """Yield a value that nobody looks for, by each door where one value is looked for.

    Who asks whether anything is given there is told so from who asks for the value.
    Where there are several, each comes without the others anyway; and a schema may
    refuse what it does not know.
    """
    for door in (CONTEXT, CONFIGURABLE):
        there = [each for each in options if door in each.doors]
        if len(there) == 1 and not there[0].needed and there[0].name not in known:
            yield Option(f"{BESIDE}_{door}", doors=(door,))


def _values(kind: str | None, found: NamedValues) -> tuple[Value, ...]:
    """Return values of a type: of numbers those that are compared with, and near."""
    if kind not in {"int", "float"}:
        return BY_TYPE.get(kind or "", ())
    near: list[Value] = list(BY_TYPE[kind])
    for number in list(found.numbers)[:MOST]:
        if kind == "float" or number == int(number):
            near += [number, number - 1, number + 1]
    return tuple(dict.fromkeys(near))


def errors_of(sources: Iterable[PythonSource]) -> tuple[str, ...]:
    """Return the classes of errors that sources name, the first ones."""
    names = (n.id for each in sources for n in each.nodes if isinstance(n, ast.Name))
    return tuple(dict.fromkeys(filter(_is_error, names)))[:MOST]


def _is_error(name: str) -> bool:
    kind: object = getattr(builtins, name, None)
    is_error = isinstance(kind, type) and issubclass(kind, Exception)
    return is_error and name not in GENERAL


# Agents of ADK

FACES: Final = ("as_adk", "as_flow")
"""Who asks a world for one of these returns agents of ADK, or of our Flow dialect."""
AGENT: Final = "Agent"
"""How the names of classes of agents end."""
KEPT: Final = frozenset(("app", "user"))
"""Scopes that a key of the state may name, and that a caller may give."""
RECKONING: Final = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
"""Operators whose operands are numbers; a sum may be one of texts, a rest a format.

A text may be repeated as well, but hardly one that a session keeps.
"""
NEAR: Final = 4
"""So many numbers of a source are values of a key that is counted in, with those next
to them."""


def is_adk_source(source: str) -> bool:
    """Tell whether a subject's source builds agents of ADK, or of our Flow dialect."""
    return any(face in source for face in FACES)


def adk_words(sources: Iterable[str]) -> GraphWords:
    """Return the words of these sources; one that does not parse has none."""
    found, read = _StateKeys(), python_sources(sources)
    for each in read:
        found.read(each)
    options = tuple(found.options())[:MOST]
    agents = tuple(dict.fromkeys(_agents(read)))[:MOST]
    own, errors = own_tool_names(read), errors_of(read)
    return GraphWords(options, errors, agents=agents, adk=True, own_tools=own)


def _agents(sources: Iterable[PythonSource]) -> Iterator[str]:
    """Yield the names that agents are given, where they are written down."""
    for node in (node for each in sources for node in each.nodes):
        if isinstance(node, ast.Call) and named(node.func).endswith(AGENT):
            for keyword in node.keywords:
                text = constant_of(keyword.value)
                if keyword.arg == "name" and isinstance(text, str):
                    yield text


def is_given(key: str) -> bool:
    """Tell whether a key of a state is one that a caller may give."""
    scope, colon, _ = key.partition(":")
    return bool(key) and (not colon or scope in KEPT)


@dataclass(slots=True)
class _StateKeys:
    """Gathers the keys of a state that are looked for, and values for them."""

    kinds: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[int, None] = field(default_factory=dict[int, None])
    texts: dict[str, None] = field(default_factory=dict[str, None])
    assigned: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    methods: set[str] = field(default_factory=set[str])

    def read(self, source: PythonSource) -> None:
        """Take over what one source says."""
        self.assigned.update(source.assigned)
        self.methods |= methods_in(source.nodes)
        for node in source.nodes:
            self._said(node)
            self._looked_up(node)
        held = {n: key for n, value in source.bound if (key := self._asked_for(value))}
        for node in source.nodes:
            self._reckoned(node, held)

    def options(self) -> Iterator[Option]:
        """Yield a value that sessions begin with, for each key."""
        for key, kind in self.kinds.items():
            yield Option(key, self._values(kind))

    def _values(self, kind: str) -> tuple[Value, ...]:
        if kind in {"int", "float"}:
            near = [n + d for n in [*self.numbers][:NEAR] for d in (-1, 0, 1)]
            return tuple(dict.fromkeys([*near, 0, 1]))
        if kind in BY_TYPE:
            return BY_TYPE[kind]
        texts = [*self.texts][:MOST] or ["a"]
        others = () if kind == "str" else (1,)
        return (*texts, *other_forms(texts, self.methods), "", *others)

    def _said(self, node: ast.AST) -> None:
        """Take values that others are compared with, or looked up by in a table."""
        if isinstance(node, ast.Compare):
            for each in compared(node, self.assigned):
                self._value(each)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            table = node.value
            for key in table.keys if isinstance(table, ast.Dict) else ():
                self._value(key)

    def _value(self, node: ast.expr | None) -> None:
        value = constant_of(node)
        if type(value) is int:
            self.numbers[value] = None
        elif isinstance(value, str) and len(value) <= LONGEST:
            self.texts[value] = None

    def _looked_up(self, node: ast.AST) -> None:
        found = lookup_of(node)
        if found is None or found.how not in {"item", "get", "setdefault", "in"}:
            return
        key = self._key_of(found.holder, found.key)
        if key is None:
            return
        self.kinds.setdefault(key, "")
        for default in found.defaults:
            kind = _kind_of(default)
            if kind in BY_TYPE or kind == "str":
                self.kinds[key] = kind
            if kind not in BY_TYPE:
                self._value(default)

    def _asked_for(self, value: ast.expr) -> str | None:
        """Return the key whose value an expression is."""
        found = lookup_of(value)
        if found is None or found.how in {"getattr", "in"}:
            return None
        return self._key_of(found.holder, found.key)

    def _reckoned(self, node: ast.AST, held: Mapping[str, str]) -> None:
        """Take a key for a number, if its value is reckoned with as one.

        Without this, a session began with a text where the source subtracts: all that
        such a world shows is how a framework tells of a ``TypeError``.
        """
        if isinstance(node, ast.BinOp) and isinstance(node.op, RECKONING):
            operands = (node.left, node.right)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, RECKONING):
            operands = (node.target, node.value)
        else:
            return
        for each in operands:
            name = each.id if isinstance(each, ast.Name) else ""
            key = held.get(name) or self._asked_for(each)
            if key is not None and not self.kinds.get(key):
                self.kinds[key] = "float"

    def _key_of(self, holder: ast.expr, node: ast.expr) -> str | None:
        """Return the key of a state, if a caller may give its value."""
        if named(holder) != "state":
            return None
        if isinstance(node, ast.Name):
            node = self.assigned.get(node.id, node)
        key = text_of(node)
        return key if is_given(key) else None
