"""The schemas that a subject's source declares, as JSON schemas; nothing is imported.

Models of pydantic, dataclasses, ``TypedDict``, enums and annotations with bounds, of
whatever framework: the arguments of tools by the tool's name, the fields of states and
contexts, and what an answer is to fit. A type that is not told here is no schema.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.testing.json_values import is_mapping
from refengine.testing.subject_worlds.source import (
    PythonSource,
    named,
    text_of,
)

Schema: TypeAlias = "dict[str, Any]"
Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

DEEPEST: Final = 4
"""So deep are types read; one that contains itself has no end."""
PLAIN: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "str": {"type": "string"},
        "int": {"type": "integer"},
        "float": {"type": "number"},
        "bool": {"type": "boolean"},
        "None": {"type": "null"},
        "dict": {"type": "object"},
        "PositiveInt": {"type": "integer", "exclusiveMinimum": 0},
        "NonNegativeInt": {"type": "integer", "minimum": 0},
        "NegativeInt": {"type": "integer", "exclusiveMaximum": 0},
        "NonPositiveInt": {"type": "integer", "maximum": 0},
        "PositiveFloat": {"type": "number", "exclusiveMinimum": 0},
        "NonNegativeFloat": {"type": "number", "minimum": 0},
        "StrictStr": {"type": "string"},
        "StrictInt": {"type": "integer"},
        "StrictBool": {"type": "boolean"},
        "StrictFloat": {"type": "number"},
        "conint": {"type": "integer"},
        "confloat": {"type": "number"},
        "constr": {"type": "string"},
    }
)
LISTS: Final = frozenset(("list", "List", "Sequence", "Iterable", "set", "tuple"))
AROUND: Final = frozenset(("NotRequired", "Required", "ReadOnly", "Final", "ClassVar"))
BOUNDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ge": "minimum",
        "gt": "exclusiveMinimum",
        "le": "maximum",
        "lt": "exclusiveMaximum",
        "multiple_of": "multipleOf",
        "min_length": "minLength",
        "max_length": "maxLength",
        "min_items": "minItems",
        "max_items": "maxItems",
        "pattern": "pattern",
        "regex": "pattern",
    }
)
"""How pydantic calls a bound, and how JSON schema does."""
MARKS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "Ge": ("minimum",),
        "Gt": ("exclusiveMinimum",),
        "Le": ("maximum",),
        "Lt": ("exclusiveMaximum",),
        "MultipleOf": ("multipleOf",),
        "MinLen": ("minLength",),
        "MaxLen": ("maxLength",),
        "Len": ("minLength", "maxLength"),
    }
)
"""Bounds by place, as ``annotated_types`` writes them."""
NOT_GIVEN: Final = frozenset(
    (
        *("self", "cls", "ctx", "context", "tool_context", "callback_context"),
        *("config", "runtime", "run_manager", "tool_call_id", "world"),
    )
)
"""Arguments of tools that a framework gives, and no model."""
ANSWERS: Final = frozenset(
    ("response_format", "output_type", "output_schema", "ToolStrategy")
)
"""By which a framework is told what an answer is to fit."""
CHECKS: Final = frozenset(
    ("model_validate", "model_validate_json", "model_validate_strings", "parse_obj")
)
MODELS: Final = frozenset(("AgentStatePydantic", "BaseModel"))
UNCHECKED: Final = "x-unchecked"
"""A key of schemas of ours: their class takes whatever it is given."""
VALUES: Final = frozenset(("state_schema", "context_schema", "config_schema"))


@dataclass(slots=True)
class DeclaredSchemas:
    """What sources declare: tools, answers and values by name, each in all its forms.

    ``checked`` are classes that something is held against, whatever that is.
    """

    tools: dict[str, list[Schema]] = field(default_factory=dict[str, list[Schema]])
    answers: dict[str, list[Schema]] = field(default_factory=dict[str, list[Schema]])
    values: dict[str, list[Schema]] = field(default_factory=dict[str, list[Schema]])
    checked: list[Schema] = field(default_factory=list[Schema])

    def joined(self, other: DeclaredSchemas) -> DeclaredSchemas:
        """Return the schemas of both, which may differ under one name."""
        made = DeclaredSchemas()
        for each in (self, other):
            for name in ("tools", "answers", "values"):
                mine: dict[str, list[Schema]] = getattr(made, name)
                for key, schemas in getattr(each, name).items():
                    mine[key] = _once([*mine.get(key, ()), *schemas])
            made.checked = _once([*made.checked, *each.checked])
        return made


def _once(schemas: Iterable[Schema]) -> list[Schema]:
    found: list[Schema] = []
    for each in schemas:
        if each not in found:
            found.append(each)
    return found


def declared_schemas(side: Iterable[PythonSource]) -> DeclaredSchemas:
    """Return what the sources of one side declare."""
    return _Declarations(side).found()


class _Declarations:
    """The classes, functions and names of one side, whichever file they stand in."""

    def __init__(self, side: Iterable[PythonSource]) -> None:
        sources = list(side)
        self._nodes = [node for each in sources for node in each.nodes]
        self._assigned: dict[str, ast.expr] = {}
        for each in sources:
            self._assigned.update(each.assigned)
        self._classes = {n.name: n for n in self._nodes if isinstance(n, ast.ClassDef)}
        self._functions: dict[str, Function] = {
            n.name: n
            for n in self._nodes
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self._used: set[str] = set()

    def found(self) -> DeclaredSchemas:
        made = DeclaredSchemas()
        for name, schema in self._tools():
            if schema.get("properties"):
                made.tools[name] = _once([*made.tools.get(name, ()), schema])
        for name, schema in self._told(ANSWERS):
            made.answers[name] = [schema]
        for of, schema in self._told(VALUES):
            checks = self._is_pydantic(of)
            loose = {} if checks else {UNCHECKED: True}
            for name, each in schema["properties"].items():
                made.values[name] = _once([*made.values.get(name, ()), each | loose])
        rest = (each for each in self._checked() if each not in self._used)
        made.checked = _once(filter(None, map(self._model, rest)))
        return made

    def _checked(self) -> Sequence[str]:
        """Return the names of classes that something is held against."""
        calls = (node for node in self._nodes if isinstance(node, ast.Call))
        found = dict.fromkeys(each for call in calls for each in _held_against(call))
        return [each for each in found if each in self._classes]

    # Tools

    def _tools(self) -> Iterator[tuple[str, Schema]]:
        """Yield the arguments of each tool that the source makes."""
        listed = {*self._listed()}
        for name, function in self._functions.items():
            marks = [*map(_marked, function.decorator_list)]
            marked = next((each for each in marks if "tool" in named(each[0])), None)
            if marked is not None:
                yield from self._made(marked[1], name, function)
            elif name in listed:
                yield name, self._arguments(function)
        for node in self._nodes:
            if (
                isinstance(node, ast.Call)
                and "Tool" in f"{named(node.func)}{_owner(node)}"
            ):
                yield from self._made(node, "", None)
            elif isinstance(node, ast.Dict):
                yield from self._written(node)
        for each in self._classes.values():
            yield from self._class_of_tool(each)

    def _listed(self) -> Iterator[str]:
        """Yield the names that stand in lists of tools, or that may be such a list."""
        for node in self._nodes:
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                given = [*node.args]
                given += [k.value for k in node.keywords if _is_of_tools(k.arg)]
            elif isinstance(node, ast.Assign) and _is_of_tools(named(node.targets[0])):
                given = [node.value]
            inside = (each for value in given for each in ast.walk(value))
            for each in (each for each in inside if isinstance(each, ast.List)):
                yield from (n.id for n in each.elts if isinstance(n, ast.Name))

    def _made(
        self, call: ast.Call | None, name: str, function: Function | None
    ) -> Iterator[tuple[str, Schema]]:
        """Yield a tool that a call makes, of a function or of a schema."""
        given = {k.arg: k.value for k in call.keywords} if call is not None else {}
        places = call.args if call is not None else []
        first = next(iter(places), None)
        said = text_of(given.get("name")) or text_of(first) or name
        told = [given.get(k) for k in ("args_schema", "parameters", "input_schema")]
        for each in (*told, *places):
            schema = self._object(each)
            if schema is not None and said:
                yield said, schema
                return
        for each in (*places, given.get("func"), given.get("function")):
            if isinstance(each, ast.Name) and each.id in self._functions:
                function = self._functions[each.id]
        if function is not None:
            yield said or function.name, self._arguments(function)

    def _written(self, node: ast.Dict) -> Iterator[tuple[str, Schema]]:
        """Yield a tool that is written down as JSON."""
        fields = {text_of(k): v for k, v in zip(node.keys, node.values, strict=True)}
        for key in ("parameters", "input_schema", "inputSchema"):
            schema = self._object(fields.get(key))
            if schema is not None and text_of(fields.get("name")):
                yield text_of(fields["name"]), schema

    def _class_of_tool(self, of: ast.ClassDef) -> Iterator[tuple[str, Schema]]:
        said = {
            each.target.id: each.value
            for each in of.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        schema = self._object(said.get("args_schema"))
        if schema is not None and text_of(said.get("name")):
            self._used.add(of.name)
            yield text_of(said["name"]), schema

    def _arguments(self, function: Function) -> Schema:
        """Return the schema of the arguments of a function."""
        given = [*function.args.posonlyargs, *function.args.args]
        defaults: list[ast.expr | None] = [*function.args.defaults]
        defaults = [*[None] * (len(given) - len(defaults)), *defaults]
        pairs = [*zip(given, defaults, strict=True)]
        pairs += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        fields: Schema = {}
        required: list[str] = []
        for argument, default in pairs:
            schema = self._field(argument.annotation, default)
            if argument.arg not in NOT_GIVEN and schema is not None:
                fields[argument.arg] = schema
                required += [argument.arg] if _is_needed(default) else []
        return {"type": "object", "properties": fields, "required": required}

    # Classes

    def _told(self, how: frozenset[str]) -> Iterator[tuple[str, Schema]]:
        """Yield the classes that are given under one of these names."""
        for node in self._nodes:
            if not isinstance(node, ast.Call):
                continue
            given = [k.value for k in node.keywords if k.arg in how]
            given += node.args[:1] if named(node.func) in how else []
            for each in given:
                schema = self._object(each)
                if schema is not None:
                    yield named(each), schema

    def _object(self, node: ast.expr | None) -> Schema | None:
        """Return the schema of an object that an expression says."""
        if isinstance(node, ast.Dict):
            written = self._value(node)
            return (
                dict(written) if is_mapping(written) and _is_schema(written) else None
            )
        if isinstance(node, ast.Name) and node.id in self._classes:
            return self._model(node.id)
        if isinstance(node, ast.Name) and node.id in self._assigned:
            value = self._assigned[node.id]
            return self._object(value) if isinstance(value, ast.Dict) else None
        return None

    def _model(self, name: str, depth: int = 0) -> Schema | None:
        """Return the schema of a class, with the fields of its bases; none without."""
        self._used.add(name)
        of = self._classes[name]
        made: Schema = {"type": "object", "properties": {}, "required": []}
        for base in map(named, of.bases):
            inner = (
                self._model(base, depth)
                if base in self._classes and base != name
                else None
            )
            made["properties"] |= inner["properties"] if inner else {}
            made["required"] += inner["required"] if inner else []
        for each in of.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                schema = self._field(each.annotation, each.value, depth + 1)
                if schema is not None:
                    made["properties"][each.target.id] = schema
                    needed = _is_needed(each.value) and _is_always(each.annotation, of)
                    made["required"] += [each.target.id] if needed else []
        if _is_closed(of):
            made["additionalProperties"] = False
        return made if made["properties"] else None

    def _is_pydantic(self, name: str) -> bool:
        """Tell whether a class refuses what does not fit, by itself or by a base."""
        of = self._classes.get(name)
        bases = [] if of is None else list(map(named, of.bases))
        return name in MODELS or any(map(self._is_pydantic, bases))

    def _field(
        self, annotation: ast.expr | None, default: ast.expr | None, depth: int = 0
    ) -> Schema | None:
        """Return the schema of a field or argument, with the bounds of its default."""
        schema = None if annotation is None else self._type(annotation, depth)
        if schema is not None and isinstance(default, ast.Call):
            schema = _bounded(schema, self._bounds(default))
        return schema

    # Types

    def _type(self, node: ast.expr, depth: int = 0) -> Schema | None:  # noqa: PLR0911  # a table: one return a kind
        if depth > DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return (
                dict(PLAIN["None"]) if node.value is None else self._quoted(node, depth)
            )
        if isinstance(node, ast.BinOp):
            return self._any_of([node.left, node.right], depth)
        if isinstance(node, ast.Call):  # conint(ge=1)
            plain = PLAIN.get(named(node.func))
            return None if plain is None else {**plain, **self._bounds(node)}
        if isinstance(node, ast.Subscript):
            return self._subscripted(node, depth)
        name = named(node)
        if name in self._classes:
            return self._choices(name) or self._model(name, depth + 1)
        if name in self._assigned:
            return self._type(self._assigned[name], depth + 1)
        if name in LISTS:
            return {"type": "array"}
        return dict(PLAIN[name]) if name in PLAIN else None

    def _quoted(self, node: ast.Constant, depth: int) -> Schema | None:
        try:
            return self._type(ast.parse(str(node.value), mode="eval").body, depth + 1)
        except (SyntaxError, ValueError):
            return None

    def _subscripted(self, node: ast.Subscript, depth: int) -> Schema | None:
        around = named(node.value)
        parts: list[ast.expr] = getattr(node.slice, "elts", [node.slice])
        if around == "Annotated":
            return self._annotated(parts, depth)
        if around == "Literal":
            return {"enum": [*map(self._value, parts)]}
        if around in {"Optional", "Union"}:
            none = [ast.Constant(None)] if around == "Optional" else []
            return self._any_of([*parts, *none], depth)
        if around in AROUND:
            return self._type(parts[0], depth)
        if around in LISTS:
            items = self._type(parts[0], depth + 1)
            return {"type": "array", **({"items": items} if items else {})}
        return {"type": "object"} if around in {"dict", "Dict", "Mapping"} else None

    def _annotated(self, parts: Sequence[ast.expr], depth: int) -> Schema | None:
        """Return the schema of a type with its bounds; none of what is injected."""
        schema = self._type(parts[0], depth)
        calls = [each for each in parts[1:] if isinstance(each, ast.Call)]
        if any("Injected" in named(getattr(n, "func", n)) for n in parts[1:]):
            return None
        for each in calls if schema is not None else ():
            schema = _bounded(schema or {}, self._bounds(each))
        return schema

    def _any_of(self, parts: Sequence[ast.expr], depth: int) -> Schema | None:
        found = [each for each in (self._type(part, depth) for part in parts) if each]
        return {"anyOf": found} if len(found) > 1 else next(iter(found), None)

    def _choices(self, name: str) -> Schema | None:
        """Return the values of an enum."""
        of = self._classes[name]
        if not any(named(base).endswith(("Enum", "Flag")) for base in of.bases):
            return None
        self._used.add(name)
        assigned = (each.value for each in of.body if isinstance(each, ast.Assign))
        values = [value for value in map(self._value, assigned) if value is not None]
        return {"enum": values} if values else None

    def _bounds(self, call: ast.Call) -> Schema:
        """Return the bounds that a call such as ``Field(ge=1)`` says."""
        given = {k.arg or "": k.value for k in call.keywords}
        said = {BOUNDS[k]: self._value(v) for k, v in given.items() if k in BOUNDS}
        if said.get("pattern") is None:
            said.pop("pattern", None)
        keys = MARKS.get(named(call.func), ())
        said |= dict(zip(keys, map(self._value, call.args), strict=False))
        return {key: value for key, value in said.items() if value is not None}

    def _value(self, node: ast.expr | None) -> Any:  # noqa: ANN401  # whatever is written
        """Return a value that is written there, or under the name there; else None."""
        if isinstance(node, ast.Name):
            node = self._assigned.get(node.id)
        try:
            return None if node is None else ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None


def _bounded(schema: Schema, bounds: Schema) -> Schema:
    """Return a schema with these bounds; lengths of a list count its items."""
    if "anyOf" in schema:
        return {"anyOf": [_bounded(each, bounds) for each in schema["anyOf"]]}
    if schema.get("type") == "array":
        bounds = {key.replace("Length", "Items"): v for key, v in bounds.items()}
    return {**schema, **bounds} if schema.get("type") != "null" else schema


def _is_of_tools(name: str | None) -> bool:
    return name is not None and "tool" in name.lower() and "callback" not in name


def _marked(decorator: ast.expr) -> tuple[ast.expr, ast.Call | None]:
    call = decorator if isinstance(decorator, ast.Call) else None
    return (decorator, None) if call is None else (call.func, call)


def _held_against(call: ast.Call) -> Iterator[str]:
    """Yield the name of a class that a call may hold something against."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in CHECKS:
        yield named(call.func.value)
    elif named(call.func) == "TypeAdapter":
        yield from map(named, call.args)
    elif any(each.arg is None for each in call.keywords):  # Limits(**given)
        yield named(call.func)


def _owner(call: ast.Call) -> str:
    """Return in what a method is called, such as a class of tools."""
    return named(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _is_needed(default: ast.expr | None) -> bool:
    """Tell whether something has to be given: its default is none, or a bare field."""
    if not isinstance(default, ast.Call) or named(default.func) not in {
        "Field",
        "field",
    }:
        return default is None
    said = {each.arg for each in default.keywords}
    first = next(iter(default.args), None)
    empty = first is None or (isinstance(first, ast.Constant) and first.value is ...)
    return empty and said.isdisjoint(("default", "default_factory"))


def _is_always(annotation: ast.expr, of: ast.ClassDef) -> bool:
    """Tell whether a field of a ``TypedDict`` has to be there; of others each has."""
    total = {k.arg: k.value for k in of.keywords}.get("total")
    partial = isinstance(total, ast.Constant) and total.value is False
    around = named(annotation.value) if isinstance(annotation, ast.Subscript) else ""
    return around == "Required" or (around != "NotRequired" and not partial)


def _is_closed(of: ast.ClassDef) -> bool:
    """Tell whether a class says that it takes no fields but its own."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "extra"
        and text_of(node.value) == "forbid"
        for node in ast.walk(of)
    )


def _is_schema(written: Mapping[Any, Any]) -> bool:
    return is_mapping(written.get("properties"))
