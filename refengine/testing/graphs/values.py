"""What a run leaves besides its messages: the public keys of its state, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage
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


def values_of(state: Mapping[str, Any]) -> dict[str, Json]:
    """Return the values that a state keeps, without the frameworks' own keys."""
    return {
        key: _value(value)
        for key, value in state.items()
        if key not in OWN_KEYS and value is not None
    }


def _value(value: Any) -> Json:  # noqa: ANN401  # whatever a subject keeps
    if isinstance(value, BaseMessage):
        return said([value])[0]
    if isinstance(value, BaseModel):
        return snapshot(value.model_dump(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        return snapshot(asdict(value))
    if is_mapping(value):
        return {str(key): _value(part) for key, part in value.items()}
    if is_list(value):
        return [_value(part) for part in value]
    return snapshot(value)
