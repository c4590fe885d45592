"""Values that a graph's source looks for by name: through which door, of which type.

A caller gives such a value as ``config["configurable"]``, as the runtime's context, as
metadata or as a key of the state. A source says which by what it looks in, also behind
another name: ``ctx = runtime.context`` and then ``ctx.tenant``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Value: TypeAlias = "str | int | float | bool | list[str] | dict[str, int]"

CONTEXT: Final = "context"
CONFIGURABLE: Final = "configurable"
METADATA: Final = "metadata"
STATE: Final = "state"
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
SCHEMAS: Final = frozenset(("context_schema", "config_schema"))
RESERVED: Final = frozenset(
    (
        "callbacks",
        "checkpoint_id",
        "checkpoint_ns",
        "configurable",
        "get",
        "is_last_step",
        "items",
        "jump_to",
        "keys",
        "llm_input_messages",
        "max_concurrency",
        "messages",
        "metadata",
        "model_dump",
        "recursion_limit",
        "remaining_steps",
        "structured_response",
        "tags",
        "thread_id",
        "values",
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
CONTAINERS: Final = frozenset(("list", "dict", "Sequence", "Mapping"))
AROUND: Final = frozenset(("NotRequired", "Required", "Annotated", "Optional"))
"""What stands around the type of a field."""


class NamedValues:
    """Gathers what the sources of a side look for by name."""

    def __init__(self) -> None:
        self.doors: dict[str, set[str]] = {}
        self.needed: dict[str, bool] = {}
        self.types: dict[str, str] = {}
        self.choices: dict[str, tuple[str, ...]] = {}
        self.texts: dict[str, None] = {"a": None}
        self.numbers: dict[float, None] = {}
        self._aliases: dict[str, str] = {}
        self._constants: dict[str, str] = {}

    def read(self, tree: ast.Module) -> None:
        """Take over what one source says."""
        nodes = list(ast.walk(tree))
        self._aliases, self._constants = {}, {}
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assigned(node.targets[0], node.value)
            elif isinstance(node, ast.NamedExpr):
                self._assigned(node.target, node.value)
        for node in nodes:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._typed(node.target.id, node.annotation)
        for node in nodes:
            self._said(node)
            self._looked_up(node)
        self._declared(nodes)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        """Remember another name of a holder, or the name that a constant holds."""
        if not isinstance(target, ast.Name):
            return
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            self._constants[target.id] = value.value
        holder = named(value)
        if holder in {CONTEXT, CONFIGURABLE, METADATA}:
            self._aliases[target.id] = holder

    def _declared(self, nodes: Iterable[ast.AST]) -> None:
        """Take over the fields of classes that are a graph's context."""
        classes = {each.name: each for each in nodes if isinstance(each, ast.ClassDef)}
        used = {
            named(keyword.value)
            for node in nodes
            if isinstance(node, ast.Call)
            for keyword in node.keywords
            if keyword.arg in SCHEMAS
        }
        for name in used & set(classes):
            checked = not any(named(b) == "TypedDict" for b in classes[name].bases)
            for field in classes[name].body:
                if isinstance(field, ast.AnnAssign):
                    required = checked and field.value is None
                    self._field(field.target, CONTEXT, required=required)

    def _field(self, target: ast.expr, door: str, *, required: bool) -> None:
        if isinstance(target, ast.Name):
            known = target.id in self.doors
            self._name(target.id, door if not known else "", needed=required)
            if not required:  # its class has a value for it
                self.needed[target.id] = False

    def _said(self, node: ast.AST) -> None:
        """Remember texts and numbers that values are compared with."""
        if isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
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
                self._name(node.attr, CONTEXT, needed=True)
        elif isinstance(node, ast.Subscript):
            if not isinstance(node.ctx, ast.Store):
                self._name(
                    self._key(node.slice), self._door_of(node.value), needed=True
                )
        elif isinstance(node, ast.Call) and node.args:
            self._asked(node)

    def _asked(self, node: ast.Call) -> None:
        """Take over ``holder.get("name", default)`` and ``getattr(holder, "name")``."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            holder, key, rest = node.func.value, node.args[0], node.args[1:]
        elif named(node.func) == "getattr" and len(node.args) > 1:
            holder, key, rest = node.args[0], node.args[1], node.args[2:]
        else:
            return
        name = self._key(key)
        self._name(name, self._door_of(holder), needed=False)
        for default in rest[:1]:
            self._value(default)
            kind = type(getattr(default, "value", None)).__name__
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
                self.choices[name] = tuple(_texts_in(parts))
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
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and len(value) <= LONGEST:
            self.texts[value] = None
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self.numbers[value] = None


def _texts_in(parts: Iterable[ast.expr]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def named(node: ast.expr) -> str:  # noqa: PLR0911  # a table: one return a kind
    """Return the last name of what a value is taken from."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        # config.get("configurable", {}).get(…), or runtime.context.copy()
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant):
            return str(first.value)
        return named(node.func.value) if node.func.attr == "copy" else ""
    if isinstance(node, ast.Call) and node.args:  # dict(runtime.context), cast(…, x)
        return named(node.args[-1])
    if isinstance(node, ast.BoolOp):  # (runtime.context or {}).get(…)
        return named(node.values[0])
    if isinstance(node, ast.IfExp):  # runtime.context if runtime else {}
        return named(node.body)
    return ""
