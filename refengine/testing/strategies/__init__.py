"""Hypothesis strategies for whole worlds: scenarios that mean something to an agent.

    @given(scenarios(streaming=True, distributes=True))
    def test_…(scenario): ...

Needs the extra ``testing``. What is generated is told to ``hypothesis.event``, so
``pytest --hypothesis-show-statistics`` says what a search has seen.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("hypothesis") is None:
    raise ModuleNotFoundError(
        "refengine.testing.strategies needs Hypothesis, which the extra 'testing'"
        " brings: pip install 'refengine[testing]'",
        name="hypothesis",
    )

from refengine.testing.strategies.extensions import (
    handlers,
    middlewares,
    tools,
)
from refengine.testing.strategies.operations import (
    config_ops,
    message_ops,
    model_wraps,
    tool_wraps,
)
from refengine.testing.strategies.wanted import Wanted
from refengine.testing.strategies.words import (
    answers,
    messages,
    texts,
    tool_names,
)
from refengine.testing.strategies.worlds import rechunked, scenarios
from refengine.testing.strategies_distribution import distributes
from refengine.testing.strategies_variants import recut, with_identity

__all__ = [
    "Wanted",
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
