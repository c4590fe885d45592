"""What is not compared of a graph, and why: fields that differ whatever a subject does.

The door leaves them out of a trace, so this page of reasons is all that is left of
them. Reports and the guide name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

VOLATILE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ids of messages": "they are drawn anew in every run",
        "names of nodes": (
            "each hook of the newer form is a node named after itself, and the model's"
            " own was renamed"
        ),
        "steps and checkpoints": "every node adds one",
        "metadata and usage of a response": "they are the vendor's, and the world's",
        "name of a tool's result": "no request carries it, and its call has it",
        "status and artifact of a tool's result, additional_kwargs": (
            "few requests carry them; they are told as MARKS"
        ),
        "one block of text, or that text": "a request says the same with both",
        "keys of the state that only NEW has": "nobody can have looked for them",
        "keys by which a framework talks to itself": (
            "remaining_steps, jump_to, llm_input_messages and the like"
        ),
        "system and user messages that hooks stream": (
            "they are for the model; what it is sent is compared"
        ),
        "the order of threads": "calls of one answer end in any order",
        "that a framework lacks a way to be run": (
            "how a graph is called is not what it does; it is told as WAY_LOST"
        ),
    }
)
"""What is left out, and the reason."""
