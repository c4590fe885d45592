"""The text of a cassette file as a tree, without running anything it names.

Refused, because reading would lose or guess: two equal keys in one object, and tags
other than YAML's own. The tags of Python that vcrpy wrote for text, bytes and lists are
read as what they stand for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final, TypeAlias

from compat.wire.errors import MissingWireExtraError, not_a_cassette


def library(name: str) -> Any:  # noqa: ANN401  # a module without types
    """Return a module that the extra ``wire`` brings; raises MissingWireExtraError.

    The name is written by our own code; it never comes from a cassette.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingWireExtraError(name.partition(".")[0]) from error


DEPTH: Final = 300
_PYTHON: Final = "tag:yaml.org,2002:python/"
_MAPPING: Final = "tag:yaml.org,2002:map"

Anything: TypeAlias = Any  # what a file holds, before it is looked at


class _RefusedError(ValueError):
    """A key that stands twice in one object, or a tree too deep to be read."""


def loaded(data: bytes, name: str) -> Anything:
    """Return the tree that the bytes hold, JSON or YAML; raises CassetteError.

    JSON goes first: not all of it is YAML, such as an emoji as two escapes.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_a_cassette(name, "it is not UTF-8 text") from error
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text, object_pairs_hook=_once)
        except _RefusedError as error:
            raise not_a_cassette(name, str(error)) from error
        except (ValueError, RecursionError):
            pass  # the flow style of YAML begins alike
    return _yaml(text, name)


def _once(pairs: list[tuple[str, Anything]]) -> dict[str, Anything]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = _first_twice([key for key, _ in pairs])
        raise _RefusedError(f"the key {twice!r} twice")
    return found


def _shallow(events: Iterable[Anything]) -> None:
    """Refuse what is nested so deep that the C library would end the process."""
    depth = 0
    for event in events:
        name = type(event).__name__
        if name.endswith("StartEvent"):
            depth += 1
            if depth > DEPTH:
                raise _RefusedError(f"nested deeper than {DEPTH}")
        elif name.endswith("EndEvent"):
            depth -= 1


def _first_twice(keys: list[Anything]) -> Anything:
    return next(key for at, key in enumerate(keys) if key in keys[:at])


def _yaml(text: str, name: str) -> Anything:
    yaml = library("yaml")
    try:
        loader = _loader(yaml)
        _shallow(yaml.parse(text, Loader=loader))
        return yaml.load(text, Loader=loader)
    except _RefusedError as error:
        raise not_a_cassette(name, str(error)) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise not_a_cassette(name, f"line {line}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise not_a_cassette(name, f"it is not YAML: {type(error).__name__}") from (
            error
        )


def _loader(yaml: Anything) -> Anything:
    """Return a loader like the safe one, which also refuses two equal keys."""
    safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    made: Anything = type("CassetteLoader", (safe,), {})
    made.add_constructor(_MAPPING, _mapping)
    for tag in ("str", "unicode"):
        made.add_constructor(_PYTHON + tag, safe.construct_scalar)
    made.add_constructor(_PYTHON + "tuple", _sequence)
    made.add_constructor(_PYTHON + "object/new:_io.BytesIO", _bytes)
    made.add_constructor(_PYTHON + "object/apply:builtins.iter", _pieces)
    return made


def _mapping(loader: Anything, node: Anything) -> Anything:
    """Return an object, in two steps, so that it may hold an alias of itself."""
    found: dict[Anything, Anything] = {}
    yield found
    given = [key.value for key, _ in node.value if isinstance(key.value, str)]
    if len(set(given)) != len(given):
        raise _RefusedError(f"the key {_first_twice(given)!r} twice")
    found.update(loader.construct_mapping(node))


def _sequence(loader: Anything, node: Anything) -> Anything:
    return loader.construct_sequence(node, deep=True)


def _bytes(loader: Anything, node: Anything) -> Anything:
    """Return what a file-like body held, which vcrpy wrote as a ``BytesIO``."""
    state = loader.construct_mapping(node, deep=True).get("state")
    return state[0] if state else b""


def _pieces(loader: Anything, node: Anything) -> Anything:
    """Return the pieces of a body that was iterated over."""
    args = loader.construct_mapping(node, deep=True).get("args")
    return list(args[0]) if args else []
