"""What a graph keeps, taken out of one process and put into another: threads and items.

A checkpointer whose database is a file of the session needs none of this: the file goes
along. What any other one holds is taken out and put in through the interface that all
of them have, as the bytes that its own serializer makes: what a newer release reads of
an older one's bytes is what a shared database would give it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from langgraph.store.memory import InMemoryStore

from refengine.testing.graphs.turn import STORED
from refengine.testing.hand_over import as_bytes, as_text

Saver: TypeAlias = Any  # a checkpointer of any release
Entry: TypeAlias = "dict[str, Any]"


def saver_of(graph: Any) -> Saver | None:  # noqa: ANN401  # a graph of any framework
    """Return the checkpointer of a graph, None if it keeps nothing."""
    return getattr(graph, "checkpointer", None) or None


def kind_of(graph: Any) -> str | None:  # noqa: ANN401  # a graph of any framework
    """Return what keeps a graph's runs, None if nothing does."""
    saver = saver_of(graph)
    return None if saver is None else type(saver).__name__


def held_by(saver: Saver, thread: str) -> list[Entry]:
    """Return what it holds of a thread, the oldest first; nothing if that is in a file.

    Raises what reading it raises.
    """
    if _is_elsewhere(saver):
        return []
    found = saver.list({"configurable": {"thread_id": thread}})
    return [_entry(saver, each) for each in reversed([*found])]


def put_back(saver: Saver, entries: Iterable[Entry]) -> None:
    """Put what another checkpointer held into this one, unless it is there already.

    Raises what its serializer raises of bytes that it refuses.
    """
    for each in entries:
        if saver.get_tuple(each["config"]) is None:
            _put(saver, each)


def items_held(graph: Any) -> list[Entry]:  # noqa: ANN401  # a graph of any framework
    """Return what its store in memory holds; other stores are the subject's affair."""
    store, saver = getattr(graph, "store", None), saver_of(graph)
    if not isinstance(store, InMemoryStore):
        return []
    return [
        {"at": [*each.namespace], "key": each.key, "value": _written(saver, each.value)}
        for each in store.search((), limit=STORED)
    ]


def put_items_back(graph: Any, entries: Iterable[Entry]) -> None:  # noqa: ANN401  # as above
    """Have its store hold these, unless it does; raises as ``put_back``."""
    store: Any = getattr(graph, "store", None)
    saver = saver_of(graph)
    if store is None:  # NEW has none
        return
    for each in entries:
        if store.get(tuple(each["at"]), each["key"]) is None:
            store.put(tuple(each["at"]), each["key"], _read(saver, each["value"]))


def files_of_saver(saver: Saver | None) -> frozenset[str]:
    """Return the files in which it keeps runs, if it has a database of SQLite."""
    connection = getattr(saver, "conn", None)
    if not isinstance(connection, sqlite3.Connection):
        return frozenset()
    rows = connection.execute("PRAGMA database_list").fetchall()
    return frozenset(os.path.realpath(file) for _, _, file in rows if file)


def _is_elsewhere(saver: Saver) -> bool:
    """Tell whether what it holds is in a file, which goes along, or on a server."""
    connection = getattr(saver, "conn", None)
    is_memory = isinstance(connection, sqlite3.Connection) and not files_of_saver(saver)
    return connection is not None and not is_memory


def _entry(saver: Saver, found: Any) -> Entry:  # noqa: ANN401  # a checkpoint of any release
    pending: Sequence[tuple[str, str, Any]] = found.pending_writes or ()
    writes = sorted(pending, key=lambda each: each[0])
    return {
        "config": _place(found.config),
        "parent": found.parent_config and _place(found.parent_config),
        "checkpoint": _written(saver, found.checkpoint),
        "metadata": _written(saver, found.metadata),
        "writes": [
            [task, [[name, _written(saver, value)] for _, name, value in some]]
            for task, some in groupby(writes, key=lambda each: each[0])
        ],
    }


def _place(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return which checkpoint a configuration names, and nothing else of it."""
    given = config["configurable"]
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return {"configurable": {name: given[name] for name in names if name in given}}


def _written(saver: Saver, value: object) -> list[str]:
    kind, data = saver.serde.dumps_typed(value)
    return [kind, as_text(data)]


def _read(saver: Saver, written: list[str]) -> Any:  # noqa: ANN401  # whatever was kept
    kind, text = written
    return saver.serde.loads_typed((kind, as_bytes(text)))


def _put(saver: Saver, entry: Entry) -> None:
    checkpoint, metadata = (_read(saver, entry[k]) for k in ("checkpoint", "metadata"))
    namespace = entry["config"]["configurable"].get("checkpoint_ns", "")
    before = entry["parent"] or entry["config"]
    parent = {**before["configurable"], "checkpoint_ns": namespace}
    if entry["parent"] is None:
        parent.pop("checkpoint_id", None)
    versions = checkpoint["channel_versions"]
    saver.put({"configurable": parent}, checkpoint, metadata, versions)
    for task, some in entry["writes"]:
        writes = [(name, _read(saver, value)) for name, value in some]
        saver.put_writes(entry["config"], writes, task)
