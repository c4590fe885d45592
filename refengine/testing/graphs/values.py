"""What a run leaves besides its messages: the public keys of its state, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from refengine.messages import Json
from refengine.testing.graphs.messages import said
from refengine.testing.narrowing import is_list, is_mapping
from refengine.testing.recorder import snapshot

OWN_KEYS: Final = frozenset(
    (
        "messages",  # told apart
        "__interrupt__",
        "remaining_steps",  # counts steps, and every hook that is a node adds one
        "is_last_step",
        "jump_to",  # where a hook goes next
        "llm_input_messages",  # what a hook hands to the model, which sees it
    )
)
"""Keys by which the frameworks talk to themselves."""


STORED: Final = 1_000
"""So many items of a store are looked at."""


def values_of(state: Mapping[str, Any]) -> dict[str, Json]:
    """Return the values that a state keeps, without the frameworks' own keys."""
    return {
        key: value_of(value)
        for key, value in state.items()
        if key not in OWN_KEYS and value is not None
    }


def stored_in(graph: Any) -> dict[str, Json]:  # noqa: ANN401  # a graph of any framework
    """Return what the graph's store in memory holds, without the keys of its items.

    Those are mostly drawn at random. Other stores are the subject's own affair.
    """
    store = getattr(graph, "store", None)
    if not isinstance(store, InMemoryStore):
        return {}
    found = store.search((), limit=STORED)
    items = [[*each.namespace, value_of(each.value)] for each in found]
    return {"(store)": sorted(items, key=repr)} if items else {}


def value_of(value: Any) -> Json:  # noqa: ANN401  # whatever a subject keeps
    """Return anything that a subject keeps or hands on, as JSON."""
    if isinstance(value, BaseMessage):
        return said([value])[0]
    if isinstance(value, BaseModel):
        return snapshot(value.model_dump(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        return snapshot(asdict(value))
    if is_mapping(value):
        return {str(key): value_of(part) for key, part in value.items()}
    if is_list(value):
        return [value_of(part) for part in value]
    return snapshot(value)
