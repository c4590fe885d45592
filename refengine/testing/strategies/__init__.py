"""Hypothesis strategies for whole worlds: scenarios that mean something to an agent.

    @given(scenarios(streaming=True, distributes=True))
    def test_…(scenario): ...

Names are loaded when they are used, and need the extra ``testing``. What is generated
is reported to ``hypothesis.event``, so ``pytest --hypothesis-show-statistics`` says
what a search has seen.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from refengine.testing.machine import install_line

if TYPE_CHECKING:
    from refengine.testing.strategies.extensions import handlers as handlers
    from refengine.testing.strategies.extensions import middlewares as middlewares
    from refengine.testing.strategies.extensions import tools as tools
    from refengine.testing.strategies.operations import config_ops as config_ops
    from refengine.testing.strategies.operations import message_ops as message_ops
    from refengine.testing.strategies.operations import model_wraps as model_wraps
    from refengine.testing.strategies.operations import tool_wraps as tool_wraps
    from refengine.testing.strategies.variants import distributes as distributes
    from refengine.testing.strategies.variants import recut as recut
    from refengine.testing.strategies.variants import with_identity as with_identity
    from refengine.testing.strategies.words import WorldChoices as WorldChoices
    from refengine.testing.strategies.words import answers as answers
    from refengine.testing.strategies.words import messages as messages
    from refengine.testing.strategies.words import texts as texts
    from refengine.testing.strategies.words import tool_names as tool_names
    from refengine.testing.strategies.worlds import rechunked as rechunked
    from refengine.testing.strategies.worlds import scenarios as scenarios

_HOMES = {
    "extensions": ("handlers", "middlewares", "tools"),
    "operations": (
        "config_ops",
        "message_ops",
        "model_wraps",
        "tool_wraps",
    ),
    "variants": ("distributes", "recut", "with_identity"),
    "words": ("WorldChoices", "answers", "messages", "texts", "tool_names"),
    "worlds": ("rechunked", "scenarios"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "WorldChoices",
    "answers",
    "config_ops",
    "distributes",
    "handlers",
    "message_ops",
    "messages",
    "middlewares",
    "model_wraps",
    "rechunked",
    "recut",
    "scenarios",
    "texts",
    "tool_names",
    "tool_wraps",
    "tools",
    "with_identity",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("hypothesis") is None:
        raise ModuleNotFoundError(
            "refengine.testing.strategies needs Hypothesis, which the extra 'testing'"
            f" brings: {install_line('testing')}",
            name="hypothesis",
        )
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
