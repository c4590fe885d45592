"""Worlds in which a caller hands options to a run, as an application does.

    sources → names that they look for in options → worlds, with values of each

Options reach the model with each request and the tools with each call, through all
that stands around either. A port that makes a call anew and leaves them out is told by
these alone. One of them no source names, for ports that hand on only what they know.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from refengine.messages import Json, ToolCall
from refengine.testing.subject_worlds.kit import Data, answer
from refengine.testing.subject_worlds.source import (
    PythonSource,
    constant_of,
    lookup_of,
    named,
    text_of,
)
from refengine.testing.subject_worlds.words import Words

Options: TypeAlias = "tuple[tuple[str, tuple[Json, ...]], ...]"
"""Names, and what each may be."""

FAMILY: Final = "options"
HOLDERS: Final = frozenset(("call_options", "options"))
"""What holds them, in a call of a tool and in a request to the model."""
OPAQUE: Final = ("trace_id", ("t-1",))
"""An option that nobody looks for: it is handed on as it is."""
MOST: Final = 6
"""So many names are given."""
CALLED: Final = 3
"""So many tools are called in each world."""


def options_read(sources: Iterable[PythonSource]) -> Options:
    """Return the options that sources look for, and one that none does."""
    found: dict[str, tuple[Json, ...]] = {}
    for source in sources:
        for node in source.nodes:
            lookup = lookup_of(node)
            if lookup is not None and named(lookup.holder) in HOLDERS:
                name = text_of(lookup.key)
                if name and name not in found:
                    found[name] = _values(lookup.defaults)
    return (*[*found.items()][:MOST], OPAQUE)


def _values(defaults: Sequence[ast.expr]) -> tuple[Json, ...]:
    """Return two values of the kind that a default has; texts without one."""
    default = constant_of(defaults[0]) if defaults else None
    if isinstance(default, bool):
        return (not default, default)
    if isinstance(default, (int, float)):
        return (default + 1, default)
    return ("a", "b")


def option_worlds(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield worlds whose runs have options: all of them, none, and others each turn."""
    if not words.options:
        return
    all_ = {name: values[0] for name, values in words.options}
    others = {name: values[-1] for name, values in words.options}
    for streaming in (False, True):
        yield FAMILY, _world(words, [all_], streaming=streaming)
        yield FAMILY, _world(words, [all_, {}, others], streaming=streaming)


def _world(words: Words, options: Sequence[Data], *, streaming: bool) -> Data:
    names = words.some_names[:CALLED]
    tools = [{"name": name, "kind": "both", "result": "<args>"} for name in names]
    runs = [
        {
            "input": ["user:hi"],
            "streaming": streaming,
            **({"continues": True} if at else {}),
            **({"options": each} if each else {}),
        }
        for at, each in enumerate(options)
    ]
    script: list[str] = []
    for turn in range(len(options)):
        calls = [ToolCall(f"c{turn}-{at}", n, "{}") for at, n in enumerate(names)]
        script += (answer("", calls), "assistant:done")
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}
